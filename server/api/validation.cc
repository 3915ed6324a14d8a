#include "server/api/validation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/duration.pb.h"
#include "sandbox/base/paths.h"
#include "sandbox/base/status_macros.h"
#include "server/api/egress_rules.h"
#include "server/api/egress_services.h"
#include "server/api/errors.h"
#include "server/api/host_directories.h"
#include "server/api/ranges.h"
#include "server/api/read_only_paths.h"

namespace server {
namespace {

constexpr size_t kMaxCommandBytes = 1 << 20;
constexpr size_t kMaxRequestIdBytes = 128;
constexpr int32_t kNanosPerSecond = 1'000'000'000;
constexpr size_t kDefaultPageSize = 100;
constexpr size_t kMaxPageSize = 1000;
constexpr Range kTerminalSize = {1, UINT16_MAX};
constexpr char kNoNul[] = "no NUL byte";

bool HasNul(absl::string_view bytes) { return absl::StrContains(bytes, '\0'); }

std::string Join(absl::string_view field, absl::string_view part) {
  return absl::StrCat(field, ".", part);
}

std::string Element(absl::string_view field, absl::string_view part, int i) {
  return absl::StrCat(field, ".", part, "[", i, "]");
}

absl::Status CheckArguments(absl::string_view field,
                            const corral::v1::Command& command) {
  if (command.argv().empty()) {
    return InvalidField(Join(field, "argv"), "", "at least one element");
  }
  if (command.argv(0).empty()) {
    return InvalidField(Element(field, "argv", 0), "", "a program");
  }
  for (int i = 0; i < command.argv_size(); ++i) {
    if (HasNul(command.argv(i))) {
      return InvalidField(Element(field, "argv", i), command.argv(i), kNoNul);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEnvironment(absl::string_view field,
                              const corral::v1::Command& command) {
  for (int i = 0; i < command.environment_size(); ++i) {
    const auto& variable = command.environment(i);
    const std::string element = Element(field, "environment", i);
    if (variable.name().empty() || absl::StrContains(variable.name(), '=') ||
        HasNul(variable.name())) {
      return InvalidField(Join(element, "name"), variable.name(),
                          "not empty, no '=', no NUL byte");
    }
    if (HasNul(variable.value())) {
      return InvalidField(Join(element, "value"), variable.value(), kNoNul);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCommandSize(absl::string_view field,
                              const corral::v1::Command& command) {
  size_t bytes = 0;
  for (const std::string& argument : command.argv()) {
    bytes += argument.size() + 1;
  }
  for (const auto& variable : command.environment()) {
    bytes += variable.name().size() + variable.value().size() + 2;
  }
  if (bytes > kMaxCommandBytes) {
    return InvalidField(Join(field, "argv"),
                        absl::StrCat(bytes, " bytes with environment"),
                        "at most 1048576 bytes");
  }
  return absl::OkStatus();
}

bool IsWithin(absl::string_view path, absl::string_view directory) {
  return sandbox::IsWithin(sandbox::StripTrailingSlashes(path),
                           sandbox::StripTrailingSlashes(directory));
}

absl::Status CheckWorkingDirectory(
    absl::string_view field, absl::string_view path,
    const std::vector<absl::string_view>& workspaces) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckPath(field, path));
  if (!workspaces.empty() && std::none_of(workspaces.begin(), workspaces.end(),
                                          [path](absl::string_view workspace) {
                                            return IsWithin(path, workspace);
                                          })) {
    return InvalidField(field, path, "the sandbox's workspace or below it");
  }
  return absl::OkStatus();
}

absl::Status CheckOutputPolicy(absl::string_view field,
                               const corral::v1::OutputPolicy& policy) {
  if (policy.has_retain_bytes()) {
    RETURN_IF_ERROR(CheckRange(Join(field, "retain_bytes"),
                               policy.retain_bytes(), kRetainBytes));
  }
  if (!corral::v1::OutputPolicy::Overflow_IsValid(policy.overflow())) {
    return InvalidField(Join(field, "overflow"),
                        absl::StrCat(policy.overflow()),
                        "DROP_OLDEST, BLOCK, HEAD_AND_TAIL, KILL");
  }
  if (policy.has_keep_after_end()) {
    return CheckDuration(Join(field, "keep_after_end"), policy.keep_after_end(),
                         absl::ZeroDuration(), kYear)
        .status();
  }
  return absl::OkStatus();
}

absl::Status CheckTimeouts(absl::string_view field,
                           const corral::v1::Command& command) {
  if (command.has_wall_timeout()) {
    RETURN_IF_ERROR(CheckDuration(Join(field, "wall_timeout"),
                                  command.wall_timeout(), absl::Milliseconds(1),
                                  kYear)
                        .status());
  }
  if (command.has_cpu_timeout()) {
    RETURN_IF_ERROR(CheckDuration(Join(field, "cpu_timeout"),
                                  command.cpu_timeout(), absl::Milliseconds(1),
                                  kYear)
                        .status());
  }
  if (command.has_kill_grace()) {
    RETURN_IF_ERROR(CheckDuration(Join(field, "kill_grace"),
                                  command.kill_grace(), absl::ZeroDuration(),
                                  absl::Hours(1))
                        .status());
  }
  if (command.has_drain_timeout()) {
    RETURN_IF_ERROR(CheckDuration(Join(field, "drain_timeout"),
                                  command.drain_timeout(), absl::ZeroDuration(),
                                  absl::Hours(1))
                        .status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSandbox(absl::string_view field,
                          const corral::v1::Sandbox& sandbox) {
  RETURN_IF_ERROR(CheckHostDirectories(field, sandbox));
  RETURN_IF_ERROR(CheckReadOnlyPaths(field, sandbox));
  RETURN_IF_ERROR(CheckEgress(field, sandbox));
  RETURN_IF_ERROR(CheckEgressServices(field, sandbox));
  if (!corral::v1::Sandbox::Profile_IsValid(sandbox.profile())) {
    return InvalidField(Join(field, "profile"), absl::StrCat(sandbox.profile()),
                        "DEFAULT, STRICT, DEBUG or NESTED");
  }
  RETURN_IF_ERROR(CheckLifetime(Join(field, "lifetime"), sandbox.lifetime()));
  RETURN_IF_ERROR(
      CheckRetention(Join(field, "retention"), sandbox.retention()));
  return CheckLimits(Join(field, "limits"), sandbox.limits());
}

absl::Status CheckLifetime(absl::string_view field,
                           const corral::v1::Lifetime& lifetime) {
  if (lifetime.has_max_age()) {
    RETURN_IF_ERROR(CheckDuration(Join(field, "max_age"), lifetime.max_age(),
                                  absl::Seconds(1), kYear)
                        .status());
  }
  if (lifetime.has_idle_timeout()) {
    RETURN_IF_ERROR(CheckDuration(Join(field, "idle_timeout"),
                                  lifetime.idle_timeout(), absl::Seconds(1),
                                  kYear)
                        .status());
  }
  if (lifetime.has_lease_timeout()) {
    RETURN_IF_ERROR(CheckDuration(Join(field, "lease_timeout"),
                                  lifetime.lease_timeout(), absl::Seconds(1),
                                  kYear)
                        .status());
  }
  return absl::OkStatus();
}

absl::Status CheckRetention(absl::string_view field,
                            const corral::v1::Retention& retention) {
  if (retention.has_max_ended_executions()) {
    RETURN_IF_ERROR(CheckRange(Join(field, "max_ended_executions"),
                               retention.max_ended_executions(),
                               kMaxEndedExecutions));
  }
  if (retention.has_max_ended_age()) {
    return CheckDuration(Join(field, "max_ended_age"),
                         retention.max_ended_age(), absl::Seconds(1), kYear)
        .status();
  }
  return absl::OkStatus();
}

absl::Status CheckLimits(absl::string_view field,
                         const corral::v1::Limits& limits) {
  const struct {
    const char* name;
    bool present;
    uint64_t value;
    Range range;
  } all[] = {
      {"memory_bytes", limits.has_memory_bytes(), limits.memory_bytes(),
       kMemoryBytes},
      {"pids", limits.has_pids(), limits.pids(), kPids},
      {"cpu_millis", limits.has_cpu_millis(), limits.cpu_millis(), kCpuMillis},
      {"output_bytes", limits.has_output_bytes(), limits.output_bytes(),
       kOutputBytes},
      {"file_bytes", limits.has_file_bytes(), limits.file_bytes(), kFileBytes},
      {"disk_bytes_per_second", limits.has_disk_bytes_per_second(),
       limits.disk_bytes_per_second(), kDiskBytesPerSecond},
      {"disk_operations_per_second", limits.has_disk_operations_per_second(),
       limits.disk_operations_per_second(), kDiskOperationsPerSecond},
      {"disk_bytes", limits.has_disk_bytes(), limits.disk_bytes(), kDiskBytes},
      {"disk_inodes", limits.has_disk_inodes(), limits.disk_inodes(),
       kDiskInodes},
  };
  for (const auto& each : all) {
    if (each.present) {
      RETURN_IF_ERROR(
          CheckRange(Join(field, each.name), each.value, each.range));
    }
  }
  return absl::OkStatus();
}

std::vector<absl::string_view> WorkspacesOf(
    const corral::v1::Sandbox& sandbox) {
  std::vector<absl::string_view> paths;
  if (sandbox.has_workspace()) {
    paths.emplace_back(sandbox.workspace().path());
  }
  for (const corral::v1::Workspace& further : sandbox.further_workspaces()) {
    paths.emplace_back(further.path());
  }
  return paths;
}

absl::Status CheckCommand(absl::string_view field,
                          const corral::v1::Command& command,
                          const std::vector<absl::string_view>& workspaces) {
  RETURN_IF_ERROR(CheckArguments(field, command));
  RETURN_IF_ERROR(CheckEnvironment(field, command));
  RETURN_IF_ERROR(CheckCommandSize(field, command));
  RETURN_IF_ERROR(CheckWorkingDirectory(Join(field, "working_directory"),
                                        command.working_directory(),
                                        workspaces));
  if (command.has_terminal()) {
    RETURN_IF_ERROR(
        CheckTerminalSize(Join(field, "terminal"), command.terminal()));
  }
  RETURN_IF_ERROR(CheckTimeouts(field, command));
  if (command.user_id() != 0) {
    RETURN_IF_ERROR(
        CheckRange(Join(field, "user_id"), command.user_id(), kUserIds));
  }
  return CheckOutputPolicy(Join(field, "output"), command.output());
}

absl::Status CheckTerminalSize(absl::string_view field,
                               const corral::v1::TerminalSize& size) {
  RETURN_IF_ERROR(CheckRange(Join(field, "rows"), size.rows(), kTerminalSize));
  return CheckRange(Join(field, "columns"), size.columns(), kTerminalSize);
}

absl::StatusOr<absl::Duration> CheckDuration(
    absl::string_view field, const google::protobuf::Duration& duration,
    absl::Duration least, absl::Duration most) {
  const int64_t seconds = duration.seconds();
  const int32_t nanos = duration.nanos();
  const absl::Duration value =
      absl::Seconds(seconds) + absl::Nanoseconds(nanos);
  // duration.proto forbids more, but those values are out of range anyway.
  const bool well_formed =
      nanos < kNanosPerSecond && !(seconds > 0 && nanos < 0);
  if (!well_formed || value < least || value > most) {
    return InvalidField(field, absl::StrCat(seconds, "s + ", nanos, "ns"),
                        absl::StrCat("[", absl::FormatDuration(least), ", ",
                                     absl::FormatDuration(most), "]"));
  }
  return value;
}

absl::Status CheckRequestId(absl::string_view field, absl::string_view id) {
  const bool printable = std::all_of(id.begin(), id.end(), [](char letter) {
    return absl::ascii_isprint(static_cast<unsigned char>(letter));
  });
  return printable && id.size() <= kMaxRequestIdBytes
             ? absl::OkStatus()
             : InvalidField(field, id, "[1, 128] printable ASCII characters");
}

absl::Status CheckRange(absl::string_view field, uint64_t value,
                        const Range& range) {
  if (!range.Contains(value)) {
    return InvalidField(field, absl::StrCat(value),
                        absl::StrCat("[", range.least, ", ", range.most, "]"));
  }
  return absl::OkStatus();
}

absl::Status CheckStream(absl::string_view field, corral::v1::Stream stream) {
  if (stream == corral::v1::STREAM_UNSPECIFIED ||
      !corral::v1::Stream_IsValid(stream)) {
    return InvalidField(field, absl::StrCat(stream),
                        "STDOUT, STDERR, TERMINAL");
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> CheckPageSize(absl::string_view field, int32_t size) {
  if (size < 0) {
    return InvalidField(field, absl::StrCat(size), "0 or more");
  }
  return size == 0 ? kDefaultPageSize
                   : std::min(static_cast<size_t>(size), kMaxPageSize);
}

}  // namespace server
