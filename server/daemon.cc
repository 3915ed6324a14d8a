#include "server/daemon.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/admin.pb.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/version.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_launcher.h"
#include "sandbox/kernel/isolation.h"
#include "server/config.h"
#include "server/config_defaults.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/core/workspace_policy.h"
#include "server/net/handover.h"
#include "server/net/listen_address.h"
#include "server/net/listener.h"
#include "server/runtime/activity.h"

namespace server {
namespace {

// See README.md of server/net.
constexpr int kKeepaliveMillis = 30'000;
constexpr int kKeepaliveTimeoutMillis = 20'000;
constexpr int kMinPingMillis = 10'000;
// Limit for one more sandbox to end. All of them may take longer, since only a
// few end at a time.
constexpr absl::Duration kDeletionPatience = absl::Seconds(30);
// Limit for removing the files of deleted sandboxes.
constexpr absl::Duration kRemovalPatience = absl::Seconds(2);
// Limit for starts that are under way to answer.
constexpr absl::Duration kStartPatience = absl::Seconds(1);
// Limit for answers to reach their clients.
constexpr absl::Duration kAnswerPatience = absl::Milliseconds(100);
// Limit for readers to read the rest after their sandboxes have ended.
constexpr absl::Duration kEndPatience = absl::Seconds(2);
// Limit for work on disks that no sandbox needs any more.
constexpr std::chrono::seconds kDiskPatience(2);
// Limit for calls to end after gRPC has cancelled them. One that waits for a
// disk cannot end.
constexpr std::chrono::seconds kShutdownPatience(1);
// How soon a client may retry: the successor serves by then.
constexpr absl::Duration kSuccessionTime = absl::Milliseconds(100);

using Features = std::vector<corral::v1::IsolationFeature>;

Features ToFeatures(const std::vector<sandbox::IsolationFeature>& isolation) {
  Features features;
  for (const sandbox::IsolationFeature& feature : isolation) {
    corral::v1::IsolationFeature& entry = features.emplace_back();
    entry.set_name(feature.name);
    entry.set_enforced(feature.enforced);
    entry.set_required(feature.required);
    entry.set_detail(feature.gap.empty()
                         ? feature.detail
                         : absl::StrCat(feature.detail, "; ", feature.gap));
    entry.set_state(!feature.enforced ? corral::v1::IsolationFeature::MISSING
                    : feature.gap.empty()
                        ? corral::v1::IsolationFeature::ENFORCED
                        : corral::v1::IsolationFeature::DEGRADED);
  }
  return features;
}

Sandboxes::Options ToOptions(const corral::config::v1::ServerConfig& config,
                             const Features& features) {
  Sandboxes::Options options;
  options.defaults = DefaultsOf(config);
  options.totals = {config.max_output_bytes(), config.max_memory_bytes(),
                    config.max_pids()};
  options.protections = Protections(features);
  options.max_sandboxes = config.max_sandboxes();
  options.max_executions_per_sandbox = config.max_executions_per_sandbox();
  options.max_ended_executions = config.max_ended_executions();
  return options;
}

WorkspacePolicy::Options ToWorkspaceOptions(
    const corral::config::v1::ServerConfig& config) {
  WorkspacePolicy::Options options;
  options.roots.assign(config.workspace_roots().begin(),
                       config.workspace_roots().end());
  for (const corral::config::v1::MountRoot& root : config.mount_roots()) {
    options.mount_roots.push_back({root.path(), root.writable()});
  }
  options.user = ::geteuid();
  options.state_directory = config.state_dir();
  const absl::StatusOr<ListenAddress> address =
      ParseListenAddress(config.listen());
  options.has_remote_clients = !address.ok() || !address->is_socket();
  if (!options.has_remote_clients) {
    options.socket_directory =
        address->socket_path.substr(0, address->socket_path.rfind('/'));
  }
  options.session_directories = SessionDirectories();
  return options;
}

corral::v1::ServerInfo FixedInfo(const corral::config::v1::ServerConfig& config,
                                 const Features& features) {
  corral::v1::ServerInfo info;
  info.set_version(sandbox::kVersion);
  utsname kernel = {};
  ::uname(&kernel);
  info.set_kernel(absl::StrCat(kernel.sysname, " ", kernel.release, " ",
                               kernel.version, " ", kernel.machine));
  *info.mutable_isolation() = {features.begin(), features.end()};
  const SandboxDefaults defaults = DefaultsOf(config);
  *info.mutable_default_limits() = defaults.limits;
  for (const auto& service : defaults.egress.policy().services()) {
    info.add_egress_services(service.name());
  }
  return info;
}

void SetKeepalive(grpc::ServerBuilder* builder) {
  // Notices clients whose machine or network has gone.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              kKeepaliveTimeoutMillis);
  // Answers the pings of clients that wait for output or have no call.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingMillis);
}

}  // namespace

Daemon::Daemon(const corral::config::v1::ServerConfig& config,
               const std::vector<sandbox::IsolationFeature>& isolation,
               sandbox::SupervisorLauncher* factory,
               const StateDirectory* state)
    : drain_for_(absl::Seconds(config.drain_seconds())),
      leaves_sandboxes_(config.on_shutdown() ==
                        corral::config::v1::ServerConfig::LEAVE_SANDBOXES),
      max_rpc_memory_bytes_(config.max_rpc_memory_bytes()),
      activity_(&timers_,
                {absl::Seconds(config.idle_exit_seconds()),
                 config.max_waiting_calls(), config.max_waiting_input_bytes()}),
      workspace_policy_(ToWorkspaceOptions(config)),
      workspaces_(
          [this](const std::string& path, bool read_only) {
            return workspace_policy_.Check(path, read_only);
          },
          &timers_, &lanes_.workspaces),
      mounts_(
          [this](const std::string& path, bool read_only) {
            return workspace_policy_.CheckMount(path, read_only);
          },
          &timers_, &lanes_.workspaces),
      heap_(&timers_, &lanes_.removals),
      sandboxes_({factory, state, &storage_, &activity_, &timers_, &lanes_,
                  &workspaces_, &mounts_, &heap_},
                 ToOptions(config, ToFeatures(isolation))),
      sandbox_service_(&sandboxes_, &lanes_.reads, &activity_,
                       config.ceilings()),
      execution_service_(&sandboxes_, &timers_, &lanes_.reads, &activity_,
                         config.ceilings()),
      admin_service_(FixedInfo(config, ToFeatures(isolation)),
                     &sandboxes_.registry(), &storage_, &activity_),
      screen_service_(&sandboxes_, &timers_, &activity_),
      port_service_(&sandboxes_, &activity_) {}

Daemon::~Daemon() {
  if (server_ != nullptr) {
    Shutdown();
  }
  // After this no thread uses the members, which are destroyed next.
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
  builder.RegisterService(&screen_service_);
  builder.RegisterService(&port_service_);
  SetKeepalive(&builder);
  grpc::ResourceQuota memory("corrald");
  memory.Resize(max_rpc_memory_bytes_);
  builder.SetResourceQuota(memory);
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
    LOG(INFO) << "left the sandboxes to another server";
    return End::kLeft;
  }
  return EndSandboxes();
}

bool Daemon::GiveWay(Handover* handover) {
  listener_->Pause();
  activity_.RefuseWork(kSuccessionTime);
  activity_.AwaitNoStart(kStartPatience);
  if (!handover->successor_waits()) {
    LOG(WARNING) << "the successor has gone";
    activity_.CancelHandover();
    if (handover->successor_waits()) {
      activity_.RequestHandover();  // another successor came meanwhile
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

Daemon::End Daemon::EndSandboxes() {
  sandboxes_.DeleteAll(sandbox::wire::ExitRecord::SERVER_SHUTDOWN);
  bool removed = activity_.AwaitNoSandbox(kRemovalPatience);
  for (size_t living = sandboxes_.Living(); !removed && living > 0;) {
    removed = activity_.AwaitNoSandbox(kDeletionPatience);
    const size_t before = std::exchange(living, sandboxes_.Living());
    if (!removed && living >= before) {
      LOG(ERROR) << "a supervisor does not answer; its sandbox is left behind";
      std::_Exit(EXIT_FAILURE);
    }
  }
  // Let open streams receive their final event.
  activity_.AwaitNoLastingCall(kEndPatience);
  activity_.EndLastingCalls();
  activity_.AwaitNoCall(kAnswerPatience);
  if (!ShutDownWithin(kShutdownPatience)) {
    LOG(WARNING) << "calls still wait for a disk or for the removal of files; "
                 << "the server ends without them";
    return End::kLeft;
  }
  timers_.Stop();
  sandboxes_.RemoveBlankDirectories();
  if (!removed) {
    LOG(WARNING) << "the next server removes files of deleted sandboxes";
  } else if (!lanes_.StopWithin(kDiskPatience)) {
    LOG(WARNING) << "a disk does not answer; the server ends without it";
    removed = false;
  }
  if (!sandboxes_.registry().Unreadable().empty()) {
    LOG(WARNING) << "sandboxes whose directories cannot be read are left to "
                 << "the next server";
    removed = false;
  }
  return removed ? End::kEnded : End::kLeft;
}

bool Daemon::ShutDownWithin(std::chrono::milliseconds longest) {
  const auto stopped = std::make_shared<std::promise<void>>();
  std::future<void> end = stopped->get_future();
  std::thread([this, stopped] {
    Shutdown();
    stopped->set_value();
  }).detach();
  return end.wait_for(longest) == std::future_status::ready;
}

void Daemon::Shutdown() {
  storage_.Watch(nullptr);
  listener_->Pause();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace server
