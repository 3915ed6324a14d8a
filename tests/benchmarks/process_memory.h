// What /proc says of processes and their memory.

#ifndef TESTS_BENCHMARKS_PROCESS_MEMORY_H_
#define TESTS_BENCHMARKS_PROCESS_MEMORY_H_

#include <sys/types.h>

#include <map>

#include "absl/status/statusor.h"

namespace tests {

// The parent's id of every process.
std::map<pid_t, pid_t> ReadParents();

// What the process has of its own, and its share of what it shares.
absl::StatusOr<double> ReadPssKilobytes(pid_t pid);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_PROCESS_MEMORY_H_
