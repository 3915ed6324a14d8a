// Reads processes and their memory from /proc.

#ifndef TESTS_BENCHMARKS_PROCESS_MEMORY_H_
#define TESTS_BENCHMARKS_PROCESS_MEMORY_H_

#include <sys/types.h>

#include <map>

#include "absl/status/statusor.h"

namespace tests {

// The parent's id of every process.
std::map<pid_t, pid_t> ReadParents();

// The process's own memory and its share of shared memory.
absl::StatusOr<double> ReadPssKilobytes(pid_t pid);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_PROCESS_MEMORY_H_
