// The program corral for tests: it notices a silent connection sooner, and
// never gives up.

#include <string>
#include <vector>

#include "bridge/cli/command_line.h"

int main(int argc, char** argv) {
  client::Timing timing;
  timing.patience = absl::InfiniteDuration();
  timing.keepalive_interval = absl::Milliseconds(200);
  timing.keepalive_timeout = absl::Milliseconds(500);
  return bridge::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc),
                                timing);
}
