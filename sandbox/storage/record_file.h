// The records that must survive any crash: spec.pb, start.pb, exit.pb. A sealed
// record is
//
//   char[8]  magic "corral\0\2"
//   u32      size of the message
//   u32      CRC-32 (RFC 1952) of the size and the message
//   ...      the message, serialized
//
// little-endian. A file that was not written to its end, or of which the host's
// crash left zeros, is so told from a record. What is after the message is
// ignored.
//
// Thread-safe. Reading blocks on the disk.

#ifndef SANDBOX_STORAGE_RECORD_FILE_H_
#define SANDBOX_STORAGE_RECORD_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"

namespace sandbox {

// The content of the file.
std::string SealRecord(const google::protobuf::MessageLite& message);

// The message in such a content. DataLoss: it is torn, or no record.
absl::Status UnsealRecord(absl::string_view content,
                          google::protobuf::MessageLite* message);

// NotFound: there is no such file. DataLoss: it is torn, or no record. Others:
// it cannot be read. Each names the path.
absl::Status ReadRecord(const std::string& path,
                        google::protobuf::MessageLite* message);

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_RECORD_FILE_H_
