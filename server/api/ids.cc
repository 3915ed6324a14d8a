#include "server/api/ids.h"

#include <sys/random.h>

#include <cstddef>
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
  // For several ids. Never short and never interrupted below 256 bytes,
  // getrandom(2).
  thread_local char random[25 * kIdLength];
  thread_local size_t used = sizeof(random);
  if (used == sizeof(random)) {
    CHECK(::getrandom(random, sizeof(random), 0) == sizeof(random));
    used = 0;
  }
  const absl::string_view next(random + used, kIdLength);
  used += kIdLength;
  return IdOf(next);
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
