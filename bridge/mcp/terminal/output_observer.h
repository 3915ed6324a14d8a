// Receives what happens in the terminals: for recordings.

#ifndef BRIDGE_MCP_TERMINAL_OUTPUT_OBSERVER_H_
#define BRIDGE_MCP_TERMINAL_OUTPUT_OBSERVER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Called on threads of the terminals; thread-safe, and must not wait for a
// terminal.
class OutputObserver {
 public:
  virtual ~OutputObserver() = default;

  // `terminal` is the name of its execution. `offset` is that of the first byte
  // in the output of that terminal.
  virtual void OnOutput(const std::string& terminal, uint64_t offset,
                        absl::string_view bytes) = 0;
  virtual void OnResize(uint32_t columns, uint32_t rows) = 0;
  // The shell of a terminal has ended. `exit_code`: 128 + n for signal n, as
  // shells report it; 255 if it is not known.
  virtual void OnEnd(int exit_code) = 0;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_OUTPUT_OBSERVER_H_
