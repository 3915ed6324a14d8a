#include "tests/chaos/pattern.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tests {
namespace {

constexpr uint64_t kUnit = 16;

// https://prng.di.unimi.it/splitmix64.c
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

void MakeUnit(uint64_t seed, uint64_t number, char* unit) {
  if (seed == 0) {
    for (uint64_t i = kUnit - 1; i-- > 0; number /= 10) {
      unit[i] = static_cast<char>('0' + number % 10);
    }
    unit[kUnit - 1] = '\n';
    return;
  }
  const uint64_t words[] = {Mix(seed + 2 * number), Mix(seed + 2 * number + 1)};
  std::memcpy(unit, words, kUnit);
}

}  // namespace

void FillPattern(uint64_t seed, uint64_t offset, char* data, size_t size) {
  while (size > 0) {
    char unit[kUnit];
    MakeUnit(seed, offset / kUnit, unit);
    const size_t skip = offset % kUnit;
    const size_t part = std::min<size_t>(size, kUnit - skip);
    std::memcpy(data, unit + skip, part);
    data += part;
    offset += part;
    size -= part;
  }
}

uint64_t FindDifference(uint64_t seed, uint64_t offset,
                        const std::string& data) {
  std::string expected(data.size(), 0);
  FillPattern(seed, offset, expected.data(), expected.size());
  const auto [actual, _] =
      std::mismatch(data.begin(), data.end(), expected.begin());
  return offset + (actual - data.begin());
}

}  // namespace tests
