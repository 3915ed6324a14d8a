// Makes system calls fail, for example as on a full or broken disk.

#ifndef TESTS_FAILING_CALLS_H_
#define TESTS_FAILING_CALLS_H_

#include <functional>
#include <vector>

namespace tests {

// Makes each of the system calls `numbers` (SYS_*) fail with `error` (an errno)
// and do nothing, in the calling thread and its descendants, without a way
// back. Returns false if this host allows no filter.
[[nodiscard]] bool FailCalls(const std::vector<int>& numbers, int error);

// Runs `function` in its own thread, after FailCalls(). Returns false if this
// host allows no filter; `function` was not run then.
[[nodiscard]] bool WithFailingCalls(const std::vector<int>& numbers, int error,
                                    const std::function<void()>& function);

}  // namespace tests

#endif  // TESTS_FAILING_CALLS_H_
