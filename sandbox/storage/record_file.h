// Records that must survive any crash: spec.pb, and the start and the end of an
// execution. A sealed record is
//
//   char[8]  magic "corral\0\2"
//   u32      size of the message
//   u32      CRC-32 (RFC 1952) of the size and the message
//   ...      the message, serialized
//
// with little-endian numbers. The seal shows that a file was not written to its
// end, or that a crash of the host left zeros. Bytes after the message are
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

// Returns the content of a record's file.
std::string SealRecord(const google::protobuf::MessageLite& message);

// Parses the content of a record's file. Fails with DataLoss if it is torn or
// no record.
absl::Status UnsealRecord(absl::string_view content,
                          google::protobuf::MessageLite* message);

// Reads a record. Fails with NotFound if there is no such file, with DataLoss
// if it is torn or no record, and with other errors if it cannot be read. The
// message names the path.
absl::Status ReadRecord(const std::string& path,
                        google::protobuf::MessageLite* message);

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_RECORD_FILE_H_
