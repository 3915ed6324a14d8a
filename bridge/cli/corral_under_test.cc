// The program corral for tests: it waits for its terminal for as long as it
// takes.

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bridge/cli/command_line.h"
#include "bridge/client/timing.h"

int main(int argc, char** argv) {
  client::Timing timing;
  timing.terminal_answer = absl::InfiniteDuration();
  return bridge::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc),
                                timing);
}
