#include "server/daemon.h"

#include <sys/utsname.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/admin.pb.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_launcher.h"
#include "sandbox/kernel/isolation.h"
#include "server/config.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/net/handover.h"
#include "server/net/listener.h"
#include "server/runtime/activity.h"
#include "server/runtime/version.h"

namespace server {
namespace {

constexpr int kKeepaliveMillis = 30'000;
constexpr int kMinPingMillis = 10'000;
// For the kernel to kill what is left, and for its logs to be removed.
constexpr absl::Duration kDeletionPatience = absl::Seconds(30);
// For starts under way to come to their answer.
constexpr absl::Duration kStartPatience = absl::Seconds(1);
// For answers to reach clients that read them.
constexpr absl::Duration kAnswerPatience = absl::Milliseconds(100);
// For readers to read what is left, after their sandboxes have ended.
constexpr absl::Duration kEndPatience = absl::Seconds(2);
// After which a successor serves.
constexpr absl::Duration kSuccessionTime = absl::Milliseconds(100);

Sandboxes::Options ToOptions(const corral::config::v1::ServerConfig& config) {
  Sandboxes::Options options;
  options.defaults = DefaultsOf(config);
  options.max_output_bytes = config.max_output_bytes();
  options.max_sandboxes = config.max_sandboxes();
  options.max_executions_per_sandbox = config.max_executions_per_sandbox();
  return options;
}

corral::v1::ServerInfo FixedInfo(
    const corral::config::v1::ServerConfig& config,
    const std::vector<sandbox::IsolationFeature>& isolation) {
  corral::v1::ServerInfo info;
  info.set_version(kVersion);
  utsname kernel = {};
  ::uname(&kernel);
  info.set_kernel(absl::StrCat(kernel.sysname, " ", kernel.release, " ",
                               kernel.version, " ", kernel.machine));
  for (const sandbox::IsolationFeature& feature : isolation) {
    corral::v1::IsolationFeature* entry = info.add_isolation();
    entry->set_name(feature.name);
    entry->set_enforced(feature.enforced);
    entry->set_required(feature.required);
    entry->set_detail(feature.detail);
  }
  *info.mutable_default_limits() = DefaultsOf(config).limits;
  return info;
}

}  // namespace

Daemon::Daemon(const corral::config::v1::ServerConfig& config,
               const std::vector<sandbox::IsolationFeature>& isolation,
               sandbox::SupervisorLauncher* factory,
               const StateDirectory* state)
    : drain_for_(absl::Seconds(config.drain_seconds())),
      leaves_sandboxes_(config.on_shutdown() ==
                        corral::config::v1::ServerConfig::LEAVE_SANDBOXES),
      activity_(&timers_, absl::Seconds(config.idle_exit_seconds())),
      sandboxes_({factory, state, &storage_, &activity_, &timers_, &lanes_},
                 ToOptions(config)),
      sandbox_service_(&sandboxes_, &activity_, config.ceilings()),
      execution_service_(&sandboxes_, &timers_, &activity_, config.ceilings()),
      admin_service_(FixedInfo(config, isolation), &sandboxes_.registry(),
                     &storage_, &activity_) {}

Daemon::~Daemon() {
  if (server_ != nullptr) {
    Shutdown();
  }
  // Nothing runs any more that could use the members, which are destroyed after
  // this.
  timers_.Stop();
  lanes_.Stop();
}

absl::Status Daemon::Start(Listener* listener) {
  RETURN_IF_ERROR(sandboxes_.Recover());
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.RegisterService(&sandbox_service_);
  builder.RegisterService(&execution_service_);
  builder.RegisterService(&admin_service_);
  // A client whose machine vanished is noticed, and a stream that waits for
  // output is not a flood of pings.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingMillis);
  ASSIGN_OR_RETURN(server_, listener->Start(&builder));
  listener_ = listener;
  storage_.Watch([health = server_->GetHealthCheckService()](bool good) {
    health->SetServingStatus(StorageHealth::kService, good);
  });
  return absl::OkStatus();
}

Daemon::End Daemon::RunToTheEnd(Handover* handover) {
  activity_.AwaitStop();
  while (activity_.handover_requested()) {
    if (GiveWay(handover)) {
      return End::kSucceeded;
    }
    activity_.AdmitWorkAgain();
    activity_.AwaitStop();
  }
  LOG(INFO) << "draining";
  server_->GetHealthCheckService()->SetServingStatus(false);
  const auto what = leaves_sandboxes_ ? Activity::DrainFor::kReaders
                                      : Activity::DrainFor::kReadersAndCommands;
  activity_.Drain(drain_for_, what);
  while (activity_.handover_requested()) {
    if (GiveWay(handover)) {
      return End::kSucceeded;
    }
    activity_.Drain(drain_for_, what);
  }
  if (leaves_sandboxes_) {
    listener_->Pause();
    activity_.AwaitNoStart(kStartPatience);
    LeaveSandboxes();
    return End::kLeft;
  }
  EndSandboxes();
  return End::kEnded;
}

bool Daemon::GiveWay(Handover* handover) {
  listener_->Pause();
  activity_.RefuseWork(kSuccessionTime);
  activity_.AwaitNoStart(kStartPatience);
  if (!handover->successor_waits()) {
    LOG(WARNING) << "the successor is gone";
    activity_.CancelHandover();
    if (handover->successor_waits()) {
      activity_.RequestHandover();  // another came meanwhile
    }
    const absl::Status resumed = listener_->Resume();
    CHECK(resumed.ok()) << resumed.message();
    return false;
  }
  LeaveSandboxes();
  return true;
}

void Daemon::LeaveSandboxes() {
  activity_.EndLastingCalls();
  activity_.AwaitNoCall(kAnswerPatience);
  timers_.Stop();
}

void Daemon::EndSandboxes() {
  sandboxes_.DeleteAll(sandbox::wire::ExitRecord::SERVER_SHUTDOWN);
  if (!activity_.AwaitNoSandbox(kDeletionPatience)) {
    LOG(ERROR) << "a supervisor does not answer; its sandbox is left";
    std::_Exit(EXIT_FAILURE);
  }
  // Who reads gets the ends.
  activity_.AwaitNoLastingCall(kEndPatience);
  activity_.EndLastingCalls();
  activity_.AwaitNoCall(kAnswerPatience);
  Shutdown();
}

void Daemon::Shutdown() {
  storage_.Watch(nullptr);
  listener_->Pause();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace server
