// Counts what the kernel holds for all that runs on it. The counts are rough:
// the kernel frees much of it late, and keeps some ready on each CPU.

#ifndef TESTS_CHAOS_KERNEL_OBJECTS_H_
#define TESTS_CHAOS_KERNEL_OBJECTS_H_

#include <cstdint>
#include <map>
#include <string>

namespace tests {

// Returns the number of namespaces, mounts, nodes of pseudo file systems,
// memory groups (with those that are removed and still have pages) and pages of
// compiled filters. What this kernel does not show is missing.
std::map<std::string, int64_t> CountKernelObjects();

// Returns the memory of the kernel that no cache can give back, in KiB.
std::map<std::string, int64_t> ReadKernelMemory();

// Makes the kernel give back what it only caches. It takes some seconds, and
// the host is slower for a while.
void DropCaches();

}  // namespace tests

#endif  // TESTS_CHAOS_KERNEL_OBJECTS_H_
