// Holds back the operations on files below some paths.

#ifndef TESTS_HANGING_FILESYSTEM_GATE_H_
#define TESTS_HANGING_FILESYSTEM_GATE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/mutex.h"

namespace tests {

// Thread-safe.
class Gate {
 public:
  void Close(std::string path) {
    sandbox::MutexLock lock(&mutex_);
    closed_.push_back(std::move(path));
  }

  // Opens all paths.
  void Open() {
    sandbox::MutexLock lock(&mutex_);
    closed_.clear();
    mutex_.Signal();
  }

  // Waits while `path` is a closed one or lies below one.
  void Pass(absl::string_view path) {
    sandbox::MutexLock lock(&mutex_);
    ++waiting_;
    mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !IsClosed(path);
    });
    --waiting_;
  }

  int waiting() {
    sandbox::MutexLock lock(&mutex_);
    return waiting_;
  }

 private:
  bool IsClosed(absl::string_view path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(
        closed_.begin(), closed_.end(), [path](const std::string& closed) {
          return path == closed || absl::StartsWith(path, closed + "/");
        });
  }

  sandbox::Mutex mutex_;
  std::vector<std::string> closed_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tests

#endif  // TESTS_HANGING_FILESYSTEM_GATE_H_
