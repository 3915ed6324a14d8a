// Runs or shows a command as corral does: --server ADDRESS and then
//
//   run [terminal|pipe]   in a sandbox of its own
//   exec SANDBOX          in a sandbox that exists
//   attach EXECUTION [OFFSET]
//
// It waits for its terminal for as long as it takes.

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/cli/attach/attached_command.h"
#include "bridge/cli/attach/detach_keys.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/cli/attach/terminal.h"
#include "bridge/client/connection.h"

namespace bridge {
namespace {

corral::v1::Command MakeCommand(bool has_terminal) {
  corral::v1::Command command;
  command.add_argv("cmd");
  command.mutable_output()->set_retain_bytes(1 << 20);
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::BLOCK);
  if (has_terminal) {
    *command.mutable_terminal() = GetTerminalSize();
  } else {
    command.set_stdin(HasInput());
  }
  return command;
}

absl::StatusOr<int> Main(int argc, char** argv) {
  client::ConnectOptions options;
  options.server = argv[2];
  options.timing.terminal_answer = absl::InfiniteDuration();
  const auto connection = client::Connection::Open(options);
  const DetachKeys keys = *DetachKeys::Parse("ctrl-p,ctrl-q");
  const std::string task = argv[3];
  if (task == "attach") {
    return AttachTo(
        **connection, argv[4],
        argc > 5 ? std::make_optional(std::atoll(argv[5])) : std::nullopt,
        keys);
  }
  corral::v1::RunExecutionRequest request;
  request.set_parent(task == "exec" ? argv[4] : "tenants/default");
  *request.mutable_command() = MakeCommand(std::string(argv[4]) == "terminal");
  return RunAttached(**connection, request, keys);
}

}  // namespace
}  // namespace bridge

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const absl::StatusOr<int> code = bridge::Main(argc, argv);
  if (!code.ok()) {
    bridge::Say(code.status().message());
  }
  return code.value_or(125);
}
