#include "server/ids.h"

#include <sys/random.h>

#include <cstdint>
#include <optional>
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

std::optional<uint32_t> SubordinateIds::Take() {
  for (int i = 0; i < kRanges; ++i) {
    const int range = (next_ + i) % kRanges;
    if (!taken_[range]) {
      taken_.set(range);
      next_ = (range + 1) % kRanges;
      return kFirst + kRangeSize * range;
    }
  }
  return std::nullopt;
}

bool SubordinateIds::Claim(uint32_t first_id) {
  const uint32_t range = (first_id - kFirst) / kRangeSize;
  if (first_id < kFirst || first_id % kRangeSize != 0 || range >= kRanges ||
      taken_[range]) {
    return false;
  }
  taken_.set(range);
  return true;
}

void SubordinateIds::Release(uint32_t first_id) {
  taken_.reset((first_id - kFirst) / kRangeSize);
}

}  // namespace server
