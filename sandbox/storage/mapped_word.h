// Words in a mapping of a file whose disk may fail. The kernel then sends
// SIGBUS, which kills a process that does not expect it.
//
// Thread-safe. The first use takes over the process's handling of SIGBUS: one
// that was not caused here still kills it.

#ifndef SANDBOX_STORAGE_MAPPED_WORD_H_
#define SANDBOX_STORAGE_MAPPED_WORD_H_

#include <atomic>
#include <cstdint>

namespace sandbox {

// Stores with release order. False: the disk does not take it, and nothing was
// stored.
[[nodiscard]] bool StoreMapped(std::atomic<uint64_t>* word, uint64_t value);

// Loads with acquire order. False: the disk does not give it.
[[nodiscard]] bool LoadMapped(const std::atomic<uint64_t>& word,
                              uint64_t* value);

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_MAPPED_WORD_H_
