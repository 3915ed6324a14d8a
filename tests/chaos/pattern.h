// Output that is known at every offset without being kept: the byte at an
// offset is a function of a seed.

#ifndef TESTS_CHAOS_PATTERN_H_
#define TESTS_CHAOS_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace tests {

// Seed 0: numbered lines of 16 bytes. Another: pseudo-random bytes.
void FillPattern(uint64_t seed, uint64_t offset, char* data, size_t size);

// Of the first byte of `data`, which stands at `offset`, that is not the
// pattern's; the end of `data` if all are.
uint64_t FindDifference(uint64_t seed, uint64_t offset,
                        const std::string& data);

}  // namespace tests

#endif  // TESTS_CHAOS_PATTERN_H_
