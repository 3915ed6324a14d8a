// The results of a chaos run. Thread-safe.

#ifndef TESTS_CHAOS_TALLY_H_
#define TESTS_CHAOS_TALLY_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/base/mutex.h"

namespace tests {

class Tally {
 public:
  std::atomic<uint64_t> executions = 0;
  std::atomic<uint64_t> disruptions = 0;
  std::atomic<uint64_t> streams = 0;
  std::atomic<uint64_t> bytes_compared = 0;

  // A byte, an offset or an end is wrong.
  void Difference(const std::string& what) { Note("difference: " + what); }
  // A command was not started exactly once.
  void WrongStarts(const std::string& what) { Note("starts: " + what); }
  // A call got no answer, or the answer that the object is not known.
  void Loss(const std::string& what) { Note("lost: " + what); }
  // A call got an error that the contract does not allow here.
  void Refusal(const std::string& what) { Note("refused: " + what); }

  std::vector<std::string> problems() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::string Summary() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Note(const std::string& problem) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable sandbox::Mutex mutex_;
  std::vector<std::string> problems_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tests

#endif  // TESTS_CHAOS_TALLY_H_
