// corrald: the composition root. Everything it puts together is described in
// its header.

#include <sys/resource.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/isolation.h"
#include "sandbox/supervisor_client.h"
#include "server/config.h"
#include "server/daemon.h"
#include "server/flags.h"
#include "server/listener.h"
#include "server/state_directory.h"
#include "server/stop_signals.h"
#include "server/version.h"

namespace server {
namespace {

constexpr int kCannotStart = 1;
constexpr int kBadUsage = 2;

// Every stream that is read costs a descriptor.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

absl::Status Serve(const corral::config::v1::ServerConfig& config) {
  // Forks, so before there are threads.
  const std::vector<sandbox::IsolationFeature> isolation =
      sandbox::ProbeIsolation();
  ASSIGN_OR_RETURN(const std::unique_ptr<StateDirectory> state,
                   StateDirectory::Open(config.state_dir()));
  // After the lock of the state directory: of two servers that start at once
  // one does not touch the socket.
  ASSIGN_OR_RETURN(const std::unique_ptr<Listener> listener,
                   Listener::Prepare(config));
  RETURN_IF_ERROR(listener->Listen());
  ASSIGN_OR_RETURN(
      const std::unique_ptr<sandbox::SupervisorClientFactory> factory,
      sandbox::SupervisorClientFactory::Create());
  Daemon daemon(config, isolation, factory.get(), state.get());
  const StopSignals signals(
      [activity = daemon.activity()] { activity->RequestStop(); });
  RETURN_IF_ERROR(daemon.Start(listener.get()));
  LOG(INFO) << "corrald " << kVersion << " serves on " << config.listen();
  daemon.RunToTheEnd();
  return absl::OkStatus();
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Flags> flags = ParseFlags(arguments);
  if (!flags.ok()) {
    std::cerr << "corrald: " << flags.status().message() << "\n";
    return kBadUsage;
  }
  switch (flags->action) {
    case Flags::Action::kHelp:
      std::cout << HelpText();
      return 0;
    case Flags::Action::kVersion:
      std::cout << "corrald " << kVersion << "\n";
      return 0;
    case Flags::Action::kServe:
      break;
  }
  const absl::StatusOr<corral::config::v1::ServerConfig> config =
      LoadConfig(*flags);
  if (!config.ok()) {
    std::cerr << "corrald: " << config.status().message() << "\n";
    return kBadUsage;
  }
  StopSignals::Block();
  RaiseDescriptorLimit();
  const absl::Status status = Serve(*config);
  if (!status.ok()) {
    std::cerr << "corrald: " << status.message() << "\n";
    return kCannotStart;
  }
  return 0;
}

}  // namespace
}  // namespace server

int main(int argc, char** argv) {
  return server::Main(std::vector<std::string>(argv + 1, argv + argc));
}
