#include "server/api/ids.h"

#include <sys/random.h>

#include <cstdint>
#include <string>

#include "sandbox/base/log.h"

namespace server {
namespace {

constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz234567";
constexpr int kIdLength = 10;
constexpr int kLetterCount = 26;

}  // namespace

std::string MakeId() {
  uint8_t random[kIdLength];
  // Never short and never interrupted below 256 bytes, getrandom(2).
  CHECK(::getrandom(random, sizeof(random), 0) == kIdLength);
  std::string id;
  for (const uint8_t byte : random) {
    id.push_back(kLetters[id.empty() ? byte % kLetterCount : byte % 32]);
  }
  return id;
}

}  // namespace server
