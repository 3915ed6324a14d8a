// corrald: the composition root. The headers describe the parts that it puts
// together.

#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "sandbox/base/grpc_process.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/version.h"
#include "sandbox/client/local_supervisor_launcher.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/isolation.h"
#include "sandbox/kernel/privileges.h"
#include "server/acquisition.h"
#include "server/config.h"
#include "server/core/state_directory.h"
#include "server/daemon.h"
#include "server/flags.h"
#include "server/net/handover.h"
#include "server/net/listener.h"
#include "server/runtime/stop_signals.h"

namespace server {
namespace {

constexpr int kCannotStart = 1;
// 5 s are enough for another server that is just starting or stopping, 1 s for
// the children of one that was killed.
constexpr int kTakeOverAttempts = 5000 / kAcquisitionIntervalMillis;
constexpr int kAttempts = 1000 / kAcquisitionIntervalMillis;

// Every stream that is read needs a descriptor.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// Exits without destructors: they would end sandboxes that belong to the
// successor now.
[[noreturn]] void ExitForSuccessor(Handover* handover, Listener* listener,
                                   StateDirectory* state) {
  state->Unlock();
  const absl::Status sent = handover->Send(listener->fds());
  if (!sent.ok()) {
    LOG(ERROR) << "cannot hand over to the successor: " << sent.message();
    std::_Exit(EXIT_FAILURE);
  }
  LOG(INFO) << "gave way to a successor";
  std::_Exit(EXIT_SUCCESS);
}

absl::Status Serve(const corral::config::v1::ServerConfig& config,
                   bool take_over) {
  sandbox::CgroupHost::MakeRoom();
  // This must come before any thread is made, since it forks.
  std::vector<sandbox::IsolationFeature> isolation = sandbox::ProbeIsolation();
  isolation.push_back(sandbox::ProbeRecordSpace(config.state_dir()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Listener> listener,
                   Listener::Prepare(config));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<sandbox::LocalSupervisorLauncher> factory,
      sandbox::LocalSupervisorLauncher::Create());
  ASSIGN_OR_RETURN(const std::unique_ptr<StateDirectory> state,
                   take_over ? AcquireFromPredecessor(config, kTakeOverAttempts,
                                                      listener.get())
                             : Acquire(config, kAttempts, listener.get()));
  Daemon daemon(config, isolation, factory.get(), state.get());
  const StopSignals signals(
      [activity = daemon.activity()] { activity->RequestStop(); });
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Handover> handover,
      Handover::Listen(config.state_dir(), [activity = daemon.activity()] {
        activity->RequestHandover();
      }));
  RETURN_IF_ERROR(daemon.Start(listener.get()));
  LOG(INFO) << "corrald " << sandbox::kVersion << " serves on "
            << config.listen();
  switch (daemon.RunToTheEnd(handover.get())) {
    case Daemon::End::kEnded:
      // Before the directory is unlocked: a server that waits for it then opens
      // this address.
      listener->Close();
      break;
    case Daemon::End::kLeft:
      factory->LetGo();
      // Both are released explicitly, because a thread that waits for a disk
      // may keep the process, and with it the socket and the lock, for long
      // after the exit.
      listener->Close();
      state->Unlock();
      std::_Exit(EXIT_SUCCESS);
    case Daemon::End::kSucceeded:
      factory->LetGo();
      ExitForSuccessor(handover.get(), listener.get(), state.get());
  }
  return absl::OkStatus();
}

int Main(const std::vector<std::string>& arguments) {
  const Flags flags = ParseFlags(arguments);
  switch (flags.action) {
    case Flags::Action::kHelp:
      std::cout << HelpText();
      return 0;
    case Flags::Action::kVersion:
      std::cout << "corrald " << sandbox::kVersion << "\n";
      return 0;
    case Flags::Action::kServe:
      break;
  }
  const absl::StatusOr<corral::config::v1::ServerConfig> config =
      LoadConfig(flags);
  if (!config.ok()) {
    std::cerr << "corrald: " << config.status().message() << "\n";
    return kBadUsage;
  }
  StopSignals::Block();
  RaiseDescriptorLimit();
  sandbox::PrepareForGrpc();
  const absl::Status late = sandbox::BecomeLateOomVictim();
  if (!late.ok()) {
    LOG(WARNING) << "the kernel may end corrald first when the host is out of "
                 << "memory: " << late.message();
  }
  const absl::Status status = Serve(*config, flags.take_over);
  if (!status.ok()) {
    std::cerr << "corrald: " << status.message() << "\n";
    return kCannotStart;
  }
  return 0;
}

}  // namespace
}  // namespace server

int main(int argc, char** argv) {
  return server::Main(std::vector<std::string>(argv, argv + argc));
}
