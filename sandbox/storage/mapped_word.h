// Loads and stores words in a mapped file whose disk may fail: the kernel then
// sends SIGBUS, which would kill the process.
//
// Thread-safe. The first use installs a handler of SIGBUS; a SIGBUS with
// another cause still kills the process.

#ifndef SANDBOX_STORAGE_MAPPED_WORD_H_
#define SANDBOX_STORAGE_MAPPED_WORD_H_

#include <atomic>
#include <cstdint>

namespace sandbox {

// Stores with release order. Returns false if the disk failed and nothing was
// stored.
[[nodiscard]] bool StoreMapped(std::atomic<uint64_t>* word, uint64_t value);

// Loads with acquire order. Returns false if the disk failed.
[[nodiscard]] bool LoadMapped(const std::atomic<uint64_t>& word,
                              uint64_t* value);

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_MAPPED_WORD_H_
