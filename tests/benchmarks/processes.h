// Reads processes from /proc.

#ifndef TESTS_BENCHMARKS_PROCESSES_H_
#define TESTS_BENCHMARKS_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tests {

// The parent's id of every process.
std::map<pid_t, pid_t> ReadParents();

// `root` and all processes that come from it.
std::set<pid_t> ReadTree(pid_t root);

// The name that ps shows, and the arguments, each with a NUL after it. Empty if
// the process has ended.
std::string ReadName(pid_t pid);
std::string ReadArguments(pid_t pid);

// The process's own memory and its share of shared memory.
absl::StatusOr<double> ReadPssKilobytes(pid_t pid);
// The memory that no other process shares.
absl::StatusOr<double> ReadPrivateKilobytes(pid_t pid);

// How often all threads of the processes left the CPU, by themselves or not.
int64_t ReadSwitches(const std::set<pid_t>& processes);

// The time that all threads of the processes ran on a CPU.
absl::Duration ReadCpuTime(const std::set<pid_t>& processes);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_PROCESSES_H_
