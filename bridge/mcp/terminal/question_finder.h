// Finds out whether output asks the terminal something.

#ifndef BRIDGE_MCP_TERMINAL_QUESTION_FINDER_H_
#define BRIDGE_MCP_TERMINAL_QUESTION_FINDER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// May report a question where there is none: only the terminal emulator knows
// for certain. Not thread-safe.
class QuestionFinder {
 public:
  // Returns true if `output`, which continues the earlier output, completes a
  // question.
  bool Find(absl::string_view output);

 private:
  // A sequence that the output has begun.
  std::string begun_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_QUESTION_FINDER_H_
