// Holds back the operations on files below one path.

#ifndef TESTS_HANGING_FILESYSTEM_GATE_H_
#define TESTS_HANGING_FILESYSTEM_GATE_H_

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/mutex.h"

namespace tests {

// Thread-safe.
class Gate {
 public:
  void Close(std::string path) {
    sandbox::MutexLock lock(&mutex_);
    path_ = std::move(path);
    mutex_.Signal();
  }

  void Open() { Close(""); }

  // Waits while `path` is the closed one or lies below it.
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
    return !path_.empty() &&
           (path == path_ || absl::StartsWith(path, absl::StrCat(path_, "/")));
  }

  sandbox::Mutex mutex_;
  // Empty: nothing is closed.
  std::string path_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tests

#endif  // TESTS_HANGING_FILESYSTEM_GATE_H_
