#include "sandbox/storage/record_file.h"

#include <endian.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr char kMagic[] = {'c', 'o', 'r', 'r', 'a', 'l', '\0', '\2'};

struct Seal {
  char magic[sizeof(kMagic)];
  uint32_t size;
  uint32_t crc;
};
static_assert(sizeof(Seal) == 16, "the file's format");

// Covers the size too, so that a file of zeros has no valid seal.
uint32_t Crc(uint32_t size, absl::string_view message) {
  const uLong start =
      ::crc32_z(0, reinterpret_cast<const Bytef*>(&size), sizeof(size));
  return ::crc32_z(start, reinterpret_cast<const Bytef*>(message.data()),
                   message.size());
}

}  // namespace

std::string SealRecord(const google::protobuf::MessageLite& message) {
  std::string content(sizeof(Seal), '\0');
  message.AppendToString(&content);
  const absl::string_view body =
      absl::string_view(content).substr(sizeof(Seal));
  Seal seal;
  std::memcpy(seal.magic, kMagic, sizeof(kMagic));
  seal.size = htole32(body.size());
  seal.crc = htole32(Crc(seal.size, body));
  std::memcpy(&content[0], &seal, sizeof(seal));
  return content;
}

absl::Status UnsealRecord(absl::string_view content,
                          google::protobuf::MessageLite* message) {
  Seal seal;
  if (content.size() < sizeof(seal)) {
    return absl::DataLossError("the record is torn");
  }
  std::memcpy(&seal, content.data(), sizeof(seal));
  if (std::memcmp(seal.magic, kMagic, sizeof(kMagic)) != 0) {
    return absl::DataLossError("this is no record");
  }
  const absl::string_view body =
      content.substr(sizeof(seal), le32toh(seal.size));
  if (body.size() != le32toh(seal.size) ||
      Crc(seal.size, body) != le32toh(seal.crc)) {
    return absl::DataLossError("the record is torn");
  }
  return message->ParseFromArray(body.data(), static_cast<int>(body.size()))
             ? absl::OkStatus()
             : absl::DataLossError("the record holds another message");
}

absl::Status ReadRecord(const std::string& path,
                        google::protobuf::MessageLite* message) {
  ASSIGN_OR_RETURN(const std::string content, ReadSmallFile(path));
  const absl::Status status = UnsealRecord(content, message);
  return status.ok() ? status
                     : absl::Status(status.code(),
                                    absl::StrCat(path, ": ", status.message()));
}

}  // namespace sandbox
