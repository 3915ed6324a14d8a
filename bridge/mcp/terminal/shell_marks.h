// The marks with which a shell shows where commands begin and end (OSC 133).

#ifndef BRIDGE_MCP_TERMINAL_SHELL_MARKS_H_
#define BRIDGE_MCP_TERMINAL_SHELL_MARKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bridge {

struct ShellMark {
  // 'A': the prompt begins. 'C': the output of a command begins. 'D': a command
  // has ended.
  char kind = 0;
  // Set for 'D'; -1: not known.
  int exit_code = -1;
  // The bytes of the mark itself in the output.
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Not thread-safe.
class ShellMarks {
 public:
  // The marks that this output completes. `offset`: where it stands; it
  // continues the earlier output.
  std::vector<ShellMark> Find(uint64_t offset, absl::string_view output);

 private:
  // The beginning of a mark.
  std::string begun_;
};

// Variables that make bash write marks. Other shells ignore them. A shell that
// unsets PROMPT_COMMAND writes none.
inline constexpr char kPromptCommand[] =
    R"(printf '\033]133;D;%s\a\033]133;A\a' "$?")";
inline constexpr char kBeforeCommand[] = R"(${PROMPT_COMMAND:+\e]133;C\a})";

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_SHELL_MARKS_H_
