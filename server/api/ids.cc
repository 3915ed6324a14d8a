#include "server/api/ids.h"

#include <sys/random.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/base/log.h"

namespace server {
namespace {

constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz234567";
constexpr int kIdLength = 10;
constexpr int kLetterCount = 26;

}  // namespace

std::string MakeId() {
  char random[kIdLength];
  // Never short and never interrupted below 256 bytes, getrandom(2).
  CHECK(::getrandom(random, sizeof(random), 0) == kIdLength);
  return IdOf(absl::string_view(random, sizeof(random)));
}

std::string IdOf(absl::string_view digest) {
  std::string id;
  for (const char each : digest.substr(0, kIdLength)) {
    const auto byte = static_cast<uint8_t>(each);
    id.push_back(kLetters[id.empty() ? byte % kLetterCount : byte % 32]);
  }
  return id;
}

}  // namespace server
