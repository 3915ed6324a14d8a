#include "bridge/options/sandbox_options.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bridge/options/duration_field.h"
#include "bridge/options/limit_fields.h"
#include "bridge/options/mount_options.h"
#include "bridge/options/working_directory.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

// The range of the times in corral.v1.Lifetime and Retention.
constexpr DurationRange kLifetime = {absl::Seconds(1), absl::Hours(365 * 24),
                                     "1s to 365d"};

}  // namespace

void SandboxOptions::AddTo(OptionTable& table) {
  table.Text('w', "workspace", "DIR",
             "The directory that commands see and may write to, at the same\n"
             "path inside. Default: the current directory.",
             workspace_);
  table.Value('v', "volume", "...",
              "Is refused: see --mount, which is read-only by default.",
              [](absl::string_view) {
                return absl::InvalidArgumentError(
                    "use --workspace DIR for the directory to work in, and "
                    "--mount SRC[:DST][:ro|rw] for others");
              });
  table.Flag(0, "no-workspace", "Commands see no directory of this machine.",
             no_workspace_);
  table.Flag(0, "read-only", "Commands cannot write to the workspace.",
             read_only_);
  protection_.AddTo(table);
  AddMountOptions(table, mounts_);
  confinement_.AddTo(table);
  AddLimitOptions(table, limits_);
  table.Flag(0, "kill-all-on-oom",
             "When memory runs out, kill all processes of the command, not\n"
             "only the one that the kernel chooses.",
             kill_all_on_oom_);
  table.Value(0, "output-limit", "SIZE",
              "Disk space for all output of the sandbox together: 1G.",
              [this](auto value) { return SetOutputBytes(value, limits_); });
  table.Value(
      0, "require", "PROTECTION",
      "Create no sandbox unless the host enforces this one of those that\n"
      "corral info lists. May be repeated.",
      [this](absl::string_view value) {
        required_.emplace_back(value);
        return absl::OkStatus();
      });
  AddLifetimeTo(table);
}

void SandboxOptions::AddLifetimeTo(OptionTable& table) {
  table.Value(0, "max-age", "TIME",
              "Delete the sandbox at this age and kill its commands: 8h.",
              [this](absl::string_view value) {
                return SetDuration(value, kLifetime,
                                   *lifetime_.mutable_max_age());
              });
  table.Value(
      0, "idle-timeout", "TIME",
      "Delete the sandbox after this time in which nothing ran in it and\n"
      "nobody asked for it: 30m.",
      [this](absl::string_view value) {
        return SetDuration(value, kLifetime, *lifetime_.mutable_idle_timeout());
      });
  table.Value(
      0, "lease", "TIME",
      "Delete the sandbox, also while commands run, after this time in which\n"
      "no client asked for it: 10m. A client that is connected to a command\n"
      "or waits for it keeps it.",
      [this](absl::string_view value) {
        return SetDuration(value, kLifetime,
                           *lifetime_.mutable_lease_timeout());
      });
  table.Value(0, "keep-executions", "COUNT",
              "How many ended executions to keep; the oldest go first: 100.",
              [this](auto value) { return SetEndedCount(value, retention_); });
  table.Value(0, "keep-for", "TIME",
              "How long to keep an execution after its end: 1h.",
              [this](absl::string_view value) {
                return SetDuration(value, kLifetime,
                                   *retention_.mutable_max_ended_age());
              });
}

absl::StatusOr<corral::v1::Sandbox> SandboxOptions::Build() const {
  corral::v1::Sandbox sandbox;
  *sandbox.mutable_limits() = limits_;
  if (kill_all_on_oom_) {
    sandbox.mutable_limits()->set_kill_all_on_oom(true);
  }
  *sandbox.mutable_mounts() = mounts_.mounts();
  if (lifetime_.has_max_age() || lifetime_.has_idle_timeout() ||
      lifetime_.has_lease_timeout()) {
    *sandbox.mutable_lifetime() = lifetime_;
  }
  if (retention_.has_max_ended_executions() || retention_.has_max_ended_age()) {
    *sandbox.mutable_retention() = retention_;
  }
  *sandbox.mutable_required_protections() = {required_.begin(),
                                             required_.end()};
  RETURN_IF_ERROR(confinement_.ApplyTo(sandbox));
  if (no_workspace_) {
    if (!workspace_.empty() || read_only_ || protection_.has_paths()) {
      return UsageError(
          "--no-workspace excludes --workspace, --read-only and "
          "--read-only-path");
    }
    return sandbox;
  }
  const absl::StatusOr<std::string> path =
      workspace_.empty() ? CurrentDirectory() : AbsolutePath(workspace_);
  if (!path.ok()) {
    return UsageError(absl::StrCat("the workspace: ", path.status().message()));
  }
  sandbox.mutable_workspace()->set_path(*path);
  if (!read_only_) {
    RETURN_IF_ERROR(protection_.CheckProfile(sandbox.profile()));
  }
  sandbox.mutable_workspace()->set_read_only(read_only_);
  protection_.ApplyTo(*sandbox.mutable_workspace());
  return sandbox;
}

}  // namespace bridge
