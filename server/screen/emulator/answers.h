// The answers to questions that programs asked their terminal.

#ifndef SERVER_SCREEN_EMULATOR_ANSWERS_H_
#define SERVER_SCREEN_EMULATOR_ANSWERS_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"

namespace screen {

// Not thread-safe.
class Answers {
 public:
  // `offset` is that of the question's last byte in the output, and not below
  // earlier ones.
  void Add(uint64_t offset, absl::string_view bytes);

  // Returns the answers to questions at `offset` and later.
  std::string From(uint64_t offset) const;

  // The most bytes of answers that are kept; older ones are forgotten.
  static constexpr size_t kMaxBytes = 16 << 10;

 private:
  struct Answer {
    uint64_t offset;
    std::string bytes;
  };
  std::deque<Answer> answers_;
  size_t size_ = 0;
};

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_ANSWERS_H_
