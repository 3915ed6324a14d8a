#include <string>
#include <vector>

#include "bridge/cli/command_line.h"
#include "bridge/client/timing.h"

int main(int argc, char** argv) {
  return bridge::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc),
                                client::Timing());
}
