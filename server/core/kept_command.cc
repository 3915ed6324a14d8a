#include "server/core/kept_command.h"

#include <algorithm>
#include <string>

#include "corral/v1/execution.pb.h"

namespace server {

KeptCommand::KeptCommand(const corral::v1::Command& whole)
    : whole_(whole.environment().empty()) {
  // Field by field: a copy of the whole message would take up to 1 MiB.
  command_.set_working_directory(whole.working_directory());
  command_.set_stdin(whole.stdin());
  command_.set_merge_stderr(whole.merge_stderr());
  command_.set_trace(whole.trace());
  command_.set_user_id(whole.user_id());
  if (whole.has_terminal()) {
    *command_.mutable_terminal() = whole.terminal();
  }
  if (whole.has_wall_timeout()) {
    *command_.mutable_wall_timeout() = whole.wall_timeout();
  }
  if (whole.has_kill_grace()) {
    *command_.mutable_kill_grace() = whole.kill_grace();
  }
  if (whole.has_output()) {
    *command_.mutable_output() = whole.output();
  }
  if (whole.has_cpu_timeout()) {
    *command_.mutable_cpu_timeout() = whole.cpu_timeout();
  }
  if (whole.has_drain_timeout()) {
    *command_.mutable_drain_timeout() = whole.drain_timeout();
  }
  size_t left = kMaxArgumentBytes;
  for (const std::string& argument : whole.argv()) {
    if (command_.argv_size() == kMaxArguments || left <= 1) {
      whole_ = false;
      return;
    }
    const size_t size = std::min(argument.size(), left - 1);
    command_.add_argv(argument.substr(0, size));
    whole_ = whole_ && size == argument.size();
    left -= size + 1;
  }
}

}  // namespace server
