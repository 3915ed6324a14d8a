// Keeps questions of a program away from the terminal that shows its output.

#ifndef BRIDGE_CLI_ATTACH_QUESTION_FILTER_H_
#define BRIDGE_CLI_ATTACH_QUESTION_FILTER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// A program asks its terminal for its type or the position of the cursor, for
// example. When another client answers, the terminal of this process must not
// answer, too, or the program would read the second answer as typed text. So it
// does not see the questions. Everything else is passed on as it is. The
// sequences are those of
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html.
//
// Not thread-safe.
class QuestionFilter {
 public:
  // Returns `output`, which continues the earlier output, without questions. A
  // sequence that is not complete yet is kept until it is.
  std::string Filter(absl::string_view output);

  // A sequence that is longer than this is no question, and is passed on.
  static constexpr size_t kMaxSequence = 512;

 private:
  // The beginning of a sequence.
  std::string begun_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_QUESTION_FILTER_H_
