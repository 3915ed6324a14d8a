#include "bridge/client/request_id.h"

#include <errno.h>
#include <sys/random.h>

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"

namespace client {

std::string NewRequestId() {
  std::string bytes(16, '\0');
  // The kernel returns up to 256 bytes whole, once its pool is initialized.
  while (::getrandom(bytes.data(), bytes.size(), 0) < 0) {
    CHECK(errno == EINTR) << "getrandom";
  }
  bytes[6] = static_cast<char>((static_cast<uint8_t>(bytes[6]) & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((static_cast<uint8_t>(bytes[8]) & 0x3f) | 0x80);
  const std::string hex = absl::BytesToHexString(bytes);
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-",
                      hex.substr(12, 4), "-", hex.substr(16, 4), "-",
                      hex.substr(20));
}

}  // namespace client
