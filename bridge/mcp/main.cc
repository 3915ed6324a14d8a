#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/mcp/options.h"
#include "bridge/mcp/protocol/mcp_server.h"
#include "bridge/mcp/recording/recorder.h"
#include "bridge/mcp/stdio_loop.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/tools.h"

namespace {

constexpr int kUsageStatus = 2;
constexpr int kFailureStatus = 125;
// A server that hangs must not keep corral-mcp from ending.
constexpr unsigned kLongestEndSeconds = 10;

void Complain(const absl::Status& status) {
  std::fprintf(stderr, "corral-mcp: %s\n",
               static_cast<std::string>(status.message()).c_str());
}

// A client that does not read any more is gone; its input ends, too.
void WriteLine(const std::string& line) {
  for (size_t at = 0; at < line.size();) {
    const ssize_t put =
        ::write(STDOUT_FILENO, line.data() + at, line.size() - at);
    if (put <= 0) {
      return;
    }
    at += put;
  }
}

int Serve(bridge::TerminalsOptions options) {
  absl::StatusOr<bridge::StdioLoop> loop =
      bridge::StdioLoop::Create(STDIN_FILENO);
  if (!loop.ok()) {
    Complain(loop.status());
    return kFailureStatus;
  }
  bridge::Recorder recorder(options.shell.columns, options.shell.rows);
  bridge::Terminals terminals(std::move(options), &recorder);
  bridge::Tools tools(&terminals, &recorder);
  bridge::McpServer server(&tools, WriteLine);
  const bridge::StdioLoop::End end =
      loop->Run([&](absl::string_view line) { server.Receive(line); });
  ::alarm(kLongestEndSeconds);
  if (end == bridge::StdioLoop::End::kEndOfInput) {
    server.Finish();
  }
  recorder.Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  absl::StatusOr<bridge::McpOptions> options =
      bridge::ParseMcpOptions(std::vector<std::string>(argv + 1, argv + argc));
  if (!options.ok()) {
    Complain(options.status());
    std::fputs("Try corral-mcp --help.\n", stderr);
    return kUsageStatus;
  }
  if (!options->help.empty()) {
    std::fputs(options->help.c_str(), stdout);
    return 0;
  }
  return Serve(std::move(options->terminals));
}
