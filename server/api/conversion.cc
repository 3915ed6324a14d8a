#include "server/api/conversion.h"

#include <sys/wait.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/mount.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/paths.h"
#include "sandbox/storage/output_log.h"
#include "server/api/egress_rules.h"
#include "server/api/egress_services.h"
#include "server/api/host_directories.h"
#include "server/api/limits_conversion.h"
#include "server/api/read_only_paths.h"
#include "server/api/trace_conversion.h"

namespace server {
namespace {

using google::protobuf::util::TimeUtil;

int64_t Nanos(const google::protobuf::Duration& duration) {
  return TimeUtil::DurationToNanoseconds(duration);
}

void MergeTime(int64_t nanos, google::protobuf::Timestamp* time) {
  *time = TimeUtil::NanosecondsToTimestamp(nanos);
}

corral::v1::Execution::State FromWire(wire::ExecutionRecord::State state) {
  switch (state) {
    case wire::ExecutionRecord::STARTING:
      return corral::v1::Execution::STARTING;
    case wire::ExecutionRecord::RUNNING:
      return corral::v1::Execution::RUNNING;
    case wire::ExecutionRecord::EXITED:
      return corral::v1::Execution::EXITED;
    case wire::ExecutionRecord::FAILED_TO_START:
      return corral::v1::Execution::FAILED_TO_START;
    default:  // the sentinels of protobuf's open enums
      return corral::v1::Execution::STATE_UNSPECIFIED;
  }
}

corral::v1::ExitStatus::Cause FromWire(wire::ExitRecord::Cause cause) {
  switch (cause) {
    case wire::ExitRecord::NORMAL:
      return corral::v1::ExitStatus::NORMAL;
    case wire::ExitRecord::CLIENT_SIGNAL:
      return corral::v1::ExitStatus::CLIENT_SIGNAL;
    case wire::ExitRecord::WALL_TIMEOUT:
      return corral::v1::ExitStatus::WALL_TIMEOUT;
    case wire::ExitRecord::OUT_OF_MEMORY:
      return corral::v1::ExitStatus::OUT_OF_MEMORY;
    case wire::ExitRecord::SANDBOX_DELETED:
      return corral::v1::ExitStatus::SANDBOX_DELETED;
    case wire::ExitRecord::SERVER_SHUTDOWN:
      return corral::v1::ExitStatus::SERVER_SHUTDOWN;
    case wire::ExitRecord::CPU_TIMEOUT:
      return corral::v1::ExitStatus::CPU_TIMEOUT;
    case wire::ExitRecord::OUTPUT_LIMIT:
      return corral::v1::ExitStatus::OUTPUT_LIMIT;
    case wire::ExitRecord::SYSCALL_DENIED:
      return corral::v1::ExitStatus::SYSCALL_DENIED;
    case wire::ExitRecord::SANDBOX_EXPIRED:
      return corral::v1::ExitStatus::SANDBOX_EXPIRED;
    case wire::ExitRecord::OUTPUT_FAILED:
      return corral::v1::ExitStatus::OUTPUT_FAILED;
    default:  // the sentinels of protobuf's open enums
      return corral::v1::ExitStatus::CAUSE_UNSPECIFIED;
  }
}

corral::v1::ExitStatus FromWire(const wire::ExitRecord& record) {
  corral::v1::ExitStatus exit;
  const int status = record.wait_status();
  if (WIFSIGNALED(status)) {
    exit.set_signal(WTERMSIG(status));
    exit.set_core_dumped(WCOREDUMP(status));
  } else {
    exit.set_code(WEXITSTATUS(status));
  }
  exit.set_cause(FromWire(record.cause()));
  exit.set_output_open(record.output_open());
  for (const auto& killed : record.killed()) {
    corral::v1::KilledProcess* process = exit.add_killed();
    process->set_pid(killed.pid());
    process->set_command(killed.command());
  }
  exit.set_killed_count(record.killed_count());
  return exit;
}

// Returns what an errno means for a command that does not start.
const char* ErrnoText(int error) {
  // ENOTSUPP of the kernel, which strerror(3) does not know: no memory for the
  // command's compiled system call filter is left on the host.
  constexpr int kNoJitMemory = 524;
  if (error == kNoJitMemory) {
    return "the host's memory for compiled filters is used up "
           "(net.core.bpf_jit_limit)";
  }
  if (error == EINTR) {
    return "its process was killed before the program was executed";
  }
  const char* text = ::strerrordesc_np(error);
  return text == nullptr ? "unknown error" : text;
}

corral::v1::StartFailure FromWire(const wire::StartFailure& record) {
  corral::v1::StartFailure failure;
  failure.set_stage(
      static_cast<corral::v1::StartFailure::Stage>(record.stage()));
  failure.set_errno_value(record.errno_value());
  failure.set_message(
      absl::StrCat(corral::v1::StartFailure::Stage_Name(failure.stage()), ": ",
                   ErrnoText(record.errno_value())));
  return failure;
}

corral::v1::ResourceUsage FromWire(const wire::Usage& record) {
  corral::v1::ResourceUsage usage;
  *usage.mutable_user_time() =
      TimeUtil::NanosecondsToDuration(record.user_time_ns());
  *usage.mutable_system_time() =
      TimeUtil::NanosecondsToDuration(record.system_time_ns());
  *usage.mutable_wall_time() =
      TimeUtil::NanosecondsToDuration(record.wall_time_ns());
  usage.set_memory_peak_bytes(record.memory_peak_bytes());
  usage.set_oom_kills(record.oom_kills());
  usage.set_disk_read_bytes(record.disk_read_bytes());
  usage.set_disk_written_bytes(record.disk_written_bytes());
  return usage;
}

void SetRetention(const corral::v1::Retention& wanted,
                  const corral::v1::Retention& defaults,
                  wire::SandboxSpec* spec) {
  spec->set_max_ended_executions(wanted.has_max_ended_executions()
                                     ? wanted.max_ended_executions()
                                     : defaults.max_ended_executions());
  spec->set_max_ended_age_ns(Nanos(wanted.has_max_ended_age()
                                       ? wanted.max_ended_age()
                                       : defaults.max_ended_age()));
}

void DescribeRetention(const wire::SandboxSpec& spec,
                       corral::v1::Retention* retention) {
  retention->set_max_ended_executions(spec.max_ended_executions());
  *retention->mutable_max_ended_age() =
      TimeUtil::NanosecondsToDuration(spec.max_ended_age_ns());
}

void SetLifetime(const corral::v1::Lifetime& wanted,
                 const corral::v1::Lifetime& defaults,
                 wire::SandboxSpec* spec) {
  spec->set_max_age_ns(
      Nanos(wanted.has_max_age() ? wanted.max_age() : defaults.max_age()));
  spec->set_idle_timeout_ns(Nanos(wanted.has_idle_timeout()
                                      ? wanted.idle_timeout()
                                      : defaults.idle_timeout()));
  spec->set_lease_timeout_ns(Nanos(wanted.lease_timeout()));
}

void DescribeLifetime(const wire::SandboxSpec& spec,
                      corral::v1::Sandbox* sandbox) {
  if (spec.max_age_ns() != 0) {
    *sandbox->mutable_lifetime()->mutable_max_age() =
        TimeUtil::NanosecondsToDuration(spec.max_age_ns());
    MergeTime(spec.create_time_ns() + spec.max_age_ns(),
              sandbox->mutable_expire_time());
  }
  if (spec.idle_timeout_ns() != 0) {
    *sandbox->mutable_lifetime()->mutable_idle_timeout() =
        TimeUtil::NanosecondsToDuration(spec.idle_timeout_ns());
  }
  if (spec.lease_timeout_ns() != 0) {
    *sandbox->mutable_lifetime()->mutable_lease_timeout() =
        TimeUtil::NanosecondsToDuration(spec.lease_timeout_ns());
  }
}

wire::SandboxSpec::Profile ToWire(corral::v1::Sandbox::Profile profile) {
  // The API's numbers are one higher, because its 0 is UNSPECIFIED.
  return profile == corral::v1::Sandbox::PROFILE_UNSPECIFIED
             ? wire::SandboxSpec::DEFAULT
             : static_cast<wire::SandboxSpec::Profile>(profile - 1);
}

}  // namespace

wire::SandboxSpec ToSpec(const corral::v1::Sandbox& wanted,
                         const SandboxDefaults& defaults) {
  wire::SandboxSpec spec;
  if (wanted.has_workspace()) {
    spec.set_workspace(
        std::string(sandbox::StripTrailingSlashes(wanted.workspace().path())));
    spec.set_workspace_read_only(wanted.workspace().read_only());
    for (const std::string& path : ReadOnlyPathsOf(wanted.workspace())) {
      spec.add_read_only_paths(path);
    }
  }
  for (const corral::v1::Workspace& workspace : wanted.further_workspaces()) {
    wire::SandboxSpec::FurtherWorkspace* further =
        spec.add_further_workspaces();
    further->set_path(
        std::string(sandbox::StripTrailingSlashes(workspace.path())));
    further->set_read_only(workspace.read_only());
    for (const std::string& path : ReadOnlyPathsOf(workspace)) {
      further->add_read_only_paths(path);
    }
  }
  for (const corral::v1::Mount& mount : wanted.mounts()) {
    wire::SandboxSpec::Mount* lent = spec.add_mounts();
    lent->set_source(
        std::string(sandbox::StripTrailingSlashes(mount.source())));
    lent->set_target(std::string(TargetOf(mount)));
    lent->set_writable(mount.writable());
  }
  SetLimits(wanted.limits(), defaults.limits, &spec);
  SetLifetime(wanted.lifetime(), defaults.lifetime, &spec);
  SetRetention(wanted.retention(), defaults.retention, &spec);
  if (wanted.network() == corral::v1::Sandbox::ALLOW_LIST) {
    *spec.mutable_egress() = defaults.egress;
    SelectServices(wanted, spec.mutable_egress());
    spec.mutable_egress()->mutable_policy()->MergeFrom(
        ToPolicy(wanted.egress_rules()));
  }
  spec.set_profile(ToWire(wanted.profile()));
  return spec;
}

std::vector<absl::string_view> WorkspacesOf(const wire::SandboxSpec& spec) {
  std::vector<absl::string_view> paths;
  if (!spec.workspace().empty()) {
    paths.emplace_back(spec.workspace());
  }
  for (const wire::SandboxSpec::FurtherWorkspace& further :
       spec.further_workspaces()) {
    paths.emplace_back(further.path());
  }
  return paths;
}

corral::v1::Sandbox FromSpec(const wire::SandboxSpec& spec) {
  corral::v1::Sandbox sandbox;
  sandbox.set_name(spec.name());
  if (!spec.workspace().empty()) {
    sandbox.mutable_workspace()->set_path(spec.workspace());
    sandbox.mutable_workspace()->set_read_only(spec.workspace_read_only());
    *sandbox.mutable_workspace()->mutable_read_only_paths() =
        spec.read_only_paths();
  }
  for (const wire::SandboxSpec::FurtherWorkspace& further :
       spec.further_workspaces()) {
    corral::v1::Workspace* workspace = sandbox.add_further_workspaces();
    workspace->set_path(further.path());
    workspace->set_read_only(further.read_only());
    *workspace->mutable_read_only_paths() = further.read_only_paths();
  }
  for (const wire::SandboxSpec::Mount& lent : spec.mounts()) {
    corral::v1::Mount* mount = sandbox.add_mounts();
    mount->set_source(lent.source());
    mount->set_target(lent.target());
    mount->set_writable(lent.writable());
  }
  DescribeLimits(spec, sandbox.mutable_limits());
  DescribeLifetime(spec, &sandbox);
  DescribeRetention(spec, sandbox.mutable_retention());
  sandbox.set_network(corral::v1::Sandbox::NONE);
  if (spec.has_egress()) {
    DescribePolicy(spec.egress().policy(), &sandbox);
  }
  sandbox.set_profile(
      static_cast<corral::v1::Sandbox::Profile>(spec.profile() + 1));
  MergeTime(spec.create_time_ns(), sandbox.mutable_create_time());
  return sandbox;
}

void MergeRecord(const wire::ExecutionRecord& record,
                 corral::v1::Execution* execution) {
  execution->set_state(FromWire(record.state()));
  if (record.create_time_ns() != 0) {
    MergeTime(record.create_time_ns(), execution->mutable_create_time());
  }
  if (record.start_time_ns() != 0) {
    MergeTime(record.start_time_ns(), execution->mutable_start_time());
  }
  if (record.end_time_ns() != 0) {
    MergeTime(record.end_time_ns(), execution->mutable_end_time());
  }
  if (record.has_exit()) {
    *execution->mutable_exit() = FromWire(record.exit());
  }
  if (record.has_failure()) {
    *execution->mutable_start_failure() = FromWire(record.failure());
  }
  if (record.has_usage()) {
    *execution->mutable_usage() = FromWire(record.usage());
  }
  if (record.has_input()) {
    *execution->mutable_input() = FromWire(record.input());
  }
  if (record.has_trace()) {
    *execution->mutable_trace() = FromWire(record.trace());
  }
}

corral::v1::StreamState ToStreamState(corral::v1::Stream stream,
                                      const sandbox::OutputLogState& state) {
  corral::v1::StreamState result;
  result.set_stream(stream);
  result.set_begin_offset(state.begin);
  result.set_end_offset(state.end);
  result.set_closed(state.closed);
  result.set_gap_begin_offset(state.gap_begin);
  result.set_gap_end_offset(state.gap_end);
  result.set_expired(state.expired);
  return result;
}

wire::Stream ToWire(corral::v1::Stream stream) {
  switch (stream) {
    case corral::v1::STDERR:
      return wire::STDERR;
    case corral::v1::TERMINAL:
      return wire::TERMINAL;
    default:
      return wire::STDOUT;
  }
}

corral::v1::InputState FromWire(const wire::InputState& input) {
  corral::v1::InputState state;
  state.set_accepted_offset(input.accepted_offset());
  state.set_closed(input.closed());
  return state;
}

wire::Signal::Scope ToWire(corral::v1::SignalExecutionRequest::Scope scope) {
  switch (scope) {
    case corral::v1::SignalExecutionRequest::LEADER:
      return wire::Signal::LEADER;
    case corral::v1::SignalExecutionRequest::FOREGROUND_GROUP:
      return wire::Signal::FOREGROUND_GROUP;
    default:
      return wire::Signal::TREE;
  }
}

bool IsEnd(corral::v1::Execution::State state) {
  return state == corral::v1::Execution::EXITED ||
         state == corral::v1::Execution::FAILED_TO_START ||
         state == corral::v1::Execution::LOST;
}

}  // namespace server
