#include "server/core/kept_command.h"

#include <algorithm>
#include <string>

#include "corral/v1/execution.pb.h"
#include "sandbox/base/log.h"

namespace server {

namespace {

// Copies what is kept. Returns true if nothing was left out.
bool Keep(const corral::v1::Command& whole, corral::v1::Command* kept) {
  // Field by field: a copy of the whole message would take up to 1 MiB.
  kept->set_working_directory(whole.working_directory());
  kept->set_stdin(whole.stdin());
  kept->set_merge_stderr(whole.merge_stderr());
  kept->set_trace(whole.trace());
  kept->set_user_id(whole.user_id());
  if (whole.has_terminal()) {
    *kept->mutable_terminal() = whole.terminal();
  }
  if (whole.has_wall_timeout()) {
    *kept->mutable_wall_timeout() = whole.wall_timeout();
  }
  if (whole.has_kill_grace()) {
    *kept->mutable_kill_grace() = whole.kill_grace();
  }
  if (whole.has_output()) {
    *kept->mutable_output() = whole.output();
  }
  if (whole.has_cpu_timeout()) {
    *kept->mutable_cpu_timeout() = whole.cpu_timeout();
  }
  if (whole.has_drain_timeout()) {
    *kept->mutable_drain_timeout() = whole.drain_timeout();
  }
  size_t left = KeptCommand::kMaxArgumentBytes;
  bool all = whole.environment().empty();
  for (const std::string& argument : whole.argv()) {
    if (kept->argv_size() == KeptCommand::kMaxArguments || left <= 1) {
      return false;
    }
    const size_t size = std::min(argument.size(), left - 1);
    kept->add_argv(argument.substr(0, size));
    all = all && size == argument.size();
    left -= size + 1;
  }
  return all;
}

}  // namespace

KeptCommand::KeptCommand(const corral::v1::Command& whole) {
  corral::v1::Command kept;
  whole_ = Keep(whole, &kept);
  command_ = kept.SerializeAsString();
}

corral::v1::Command KeptCommand::command() const {
  corral::v1::Command command;
  CHECK(command.ParseFromString(command_));
  return command;
}

}  // namespace server
