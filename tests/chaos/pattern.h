// Output that is known at every offset without being stored: the byte at an
// offset is a function of a seed.

#ifndef TESTS_CHAOS_PATTERN_H_
#define TESTS_CHAOS_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace tests {

// Seed 0 makes numbered lines of 16 bytes, any other seed pseudo-random bytes.
void FillPattern(uint64_t seed, uint64_t offset, char* data, size_t size);

// Returns the position of the first byte of `data` that differs from the
// pattern, or the end of `data`. `offset` is the offset of the first byte of
// `data`.
uint64_t FindDifference(uint64_t seed, uint64_t offset,
                        const std::string& data);

}  // namespace tests

#endif  // TESTS_CHAOS_PATTERN_H_
