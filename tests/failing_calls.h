// System calls that fail: for a disk that is full or broken, and the like.

#ifndef TESTS_FAILING_CALLS_H_
#define TESTS_FAILING_CALLS_H_

#include <functional>
#include <vector>

namespace tests {

// Runs `function` in a thread of its own, in which each of the system calls
// `numbers` (SYS_*) fails with `error` (an errno) and does nothing. False: this
// host allows no filter, and `function` was not run.
[[nodiscard]] bool WithFailingCalls(const std::vector<int>& numbers, int error,
                                    const std::function<void()>& function);

}  // namespace tests

#endif  // TESTS_FAILING_CALLS_H_
