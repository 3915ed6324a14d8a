#include "bridge/cli/sandbox_options.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/cli/duration_field.h"
#include "bridge/cli/quantity.h"
#include "bridge/cli/working_directory.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

// The ranges of corral.v1.Limits.
constexpr uint64_t kMinMemory = uint64_t{4} << 20;
constexpr uint64_t kMaxMemory = uint64_t{1} << 50;
constexpr uint64_t kMinOutput = uint64_t{1} << 20;
constexpr uint64_t kMinPids = 8;
constexpr uint64_t kMaxPids = 4194304;
constexpr uint64_t kMinCpuMillis = 10;
constexpr uint64_t kMaxCpuMillis = 1000000;

// Of corral.v1.Lifetime.
constexpr DurationRange kLifetime = {absl::Seconds(1), absl::Hours(365 * 24),
                                     "1s to 365d"};

absl::Status CheckRange(uint64_t value, uint64_t min, uint64_t max,
                        absl::string_view allowed) {
  return value < min || value > max
             ? absl::InvalidArgumentError(absl::StrCat("allowed is ", allowed))
             : absl::OkStatus();
}

}  // namespace

void SandboxOptions::AddTo(OptionTable& table) {
  table.Text('w', "workspace", "DIR",
             "The directory that commands see and may write to, at the same\n"
             "path inside. Default: the current directory.",
             workspace_);
  table.Flag(0, "no-workspace", "No directory of the host at all.",
             no_workspace_);
  table.Flag(0, "read-only", "Commands cannot write to the workspace.",
             read_only_);
  table.Value(0, "network", "none",
              "A network of its own with only a loopback interface (default).",
              [](absl::string_view value) {
                return value == "none"
                           ? absl::OkStatus()
                           : absl::InvalidArgumentError("allowed is none");
              });
  table.Value('m', "memory", "SIZE", "Memory of all commands together: 512M.",
              [this](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(value));
                limits_.set_memory_bytes(bytes);
                return CheckRange(bytes, kMinMemory, kMaxMemory, "4M to 1P");
              });
  table.Value(0, "pids", "COUNT", "Processes and threads at one time: 100.",
              [this](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(const uint64_t count, ParseCount(value));
                limits_.set_pids(count);
                return CheckRange(count, kMinPids, kMaxPids, "8 to 4194304");
              });
  table.Value(0, "cpus", "COUNT", "CPU time per time: 1.5.",
              [this](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(const uint64_t millis, ParseCpuMillis(value));
                limits_.set_cpu_millis(millis);
                return CheckRange(millis, kMinCpuMillis, kMaxCpuMillis,
                                  "0.01 to 1000");
              });
  table.Value(0, "output-limit", "SIZE",
              "Disk that all output of the sandbox takes together: 1G.",
              [this](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(value));
                limits_.set_output_bytes(bytes);
                return CheckRange(bytes, kMinOutput, kMaxMemory, "1M to 1P");
              });
  AddLifetimeTo(table);
}

void SandboxOptions::AddLifetimeTo(OptionTable& table) {
  table.Value(
      0, "max-age", "TIME", "Delete it at this age, with what runs in it: 8h.",
      [this](absl::string_view value) {
        return SetDuration(value, kLifetime, *lifetime_.mutable_max_age());
      });
  table.Value(
      0, "idle-timeout", "TIME",
      "Delete it when for this time nothing ran in it and nobody asked\n"
      "for it: 30m.",
      [this](absl::string_view value) {
        return SetDuration(value, kLifetime, *lifetime_.mutable_idle_timeout());
      });
}

absl::StatusOr<corral::v1::Sandbox> SandboxOptions::Build() const {
  corral::v1::Sandbox sandbox;
  *sandbox.mutable_limits() = limits_;
  if (lifetime_.has_max_age() || lifetime_.has_idle_timeout()) {
    *sandbox.mutable_lifetime() = lifetime_;
  }
  sandbox.set_network(corral::v1::Sandbox::NONE);
  if (no_workspace_) {
    if (!workspace_.empty() || read_only_) {
      return UsageError(
          "--no-workspace goes with neither --workspace nor --read-only");
    }
    return sandbox;
  }
  const absl::StatusOr<std::string> path =
      workspace_.empty() ? CurrentDirectory() : AbsolutePath(workspace_);
  if (!path.ok()) {
    return UsageError(absl::StrCat("the workspace: ", path.status().message()));
  }
  sandbox.mutable_workspace()->set_path(*path);
  sandbox.mutable_workspace()->set_read_only(read_only_);
  return sandbox;
}

}  // namespace bridge
