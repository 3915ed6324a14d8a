// Converts commands.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/paths.h"
#include "server/api/conversion.h"
#include "server/api/validation.h"

namespace server {
namespace {

using google::protobuf::util::TimeUtil;

constexpr char kHome[] = "/home/corral";

int64_t Nanos(const google::protobuf::Duration& duration) {
  return TimeUtil::DurationToNanoseconds(duration);
}

// Lines "NAME=value": each name once, in the order in which names came first.
class Environment {
 public:
  void Set(absl::string_view name, absl::string_view value) {
    const auto [entry, added] =
        positions_.try_emplace(std::string(name), lines_.size());
    if (added) {
      lines_.emplace_back();
    }
    lines_[entry->second] = absl::StrCat(name, "=", value);
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::unordered_map<std::string, size_t> positions_;
  std::vector<std::string> lines_;
};

Environment CompleteEnvironment(const corral::v1::Command& command) {
  Environment environment;
  environment.Set(
      "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  if (command.user_id() == 0) {
    environment.Set("HOME", kHome);
    environment.Set("USER", "corral");
    environment.Set("LOGNAME", "corral");
  }
  environment.Set("SHELL", "/bin/bash");
  environment.Set("LANG", "C.UTF-8");
  if (command.has_terminal()) {
    environment.Set("TERM", "xterm-256color");
  }
  for (const auto& variable : command.environment()) {
    environment.Set(variable.name(), variable.value());
  }
  return environment;
}

std::string WorkingDirectory(const corral::v1::Command& command,
                             absl::string_view workspace) {
  absl::string_view directory = command.user_id() == 0 ? kHome : "/tmp";
  if (!command.working_directory().empty()) {
    directory = command.working_directory();
  } else if (!workspace.empty()) {
    directory = workspace;
  }
  return std::string(sandbox::StripTrailingSlashes(directory));
}

wire::CommandSpec::Overflow ToWire(corral::v1::OutputPolicy::Overflow policy) {
  switch (policy) {
    case corral::v1::OutputPolicy::BLOCK:
      return wire::CommandSpec::BLOCK;
    case corral::v1::OutputPolicy::HEAD_AND_TAIL:
      return wire::CommandSpec::HEAD_AND_TAIL;
    case corral::v1::OutputPolicy::KILL:
      return wire::CommandSpec::KILL;
    default:  // the sentinels of protobuf's open enums
      return wire::CommandSpec::DROP_OLDEST;
  }
}

void SetOutputPolicy(const corral::v1::OutputPolicy& policy,
                     wire::CommandSpec* spec) {
  spec->set_retain_bytes(policy.has_retain_bytes() ? policy.retain_bytes()
                                                   : kDefaultRetainBytes);
  spec->set_overflow(ToWire(policy.overflow()));
}

void SetTimeouts(const corral::v1::Command& command, wire::CommandSpec* spec) {
  spec->set_wall_timeout_ns(Nanos(command.wall_timeout()));
  spec->set_cpu_timeout_ns(Nanos(command.cpu_timeout()));
  spec->set_kill_grace_ns(command.has_kill_grace()
                              ? Nanos(command.kill_grace())
                              : absl::ToInt64Nanoseconds(kDefaultKillGrace));
  if (command.has_drain_timeout()) {
    spec->set_drain_ns(Nanos(command.drain_timeout()));
  }
}

}  // namespace

wire::CommandSpec ToCommandSpec(const corral::v1::Command& command,
                                absl::string_view workspace) {
  wire::CommandSpec spec;
  *spec.mutable_argv() = command.argv();
  const Environment environment = CompleteEnvironment(command);
  for (const std::string& line : environment.lines()) {
    spec.add_environment(line);
  }
  spec.set_working_directory(WorkingDirectory(command, workspace));
  spec.set_terminal_rows(command.terminal().rows());
  spec.set_terminal_columns(command.terminal().columns());
  spec.set_open_stdin(command.stdin());
  spec.set_merge_stderr(command.merge_stderr());
  spec.set_user_id(command.user_id());
  SetTimeouts(command, &spec);
  SetOutputPolicy(command.output(), &spec);
  command.SerializeToString(spec.mutable_original());
  return spec;
}

std::vector<corral::v1::Stream> StreamsOf(const corral::v1::Command& command) {
  if (command.has_terminal()) {
    return {corral::v1::TERMINAL};
  }
  if (command.merge_stderr()) {
    return {corral::v1::STDOUT};
  }
  return {corral::v1::STDOUT, corral::v1::STDERR};
}

}  // namespace server
