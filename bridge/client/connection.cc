#include "bridge/client/connection.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bridge/client/error_details.h"
#include "bridge/client/local_server.h"
#include "grpc/grpc.h"
#include "grpcpp/security/credentials.h"
#include "sandbox/base/grpc_process.h"
#include "sandbox/base/status_macros.h"

namespace client {
namespace {

// Long, since the wait ends early if the server dies.
constexpr absl::Duration kStartTimeout = absl::Seconds(30);
constexpr absl::Duration kConnectTimeout = absl::Seconds(10);
constexpr absl::Duration kRestartTimeout = absl::Seconds(5);
constexpr absl::Duration kReconnectInterval = absl::Milliseconds(50);
constexpr absl::Duration kListenInterval = absl::Milliseconds(10);
constexpr int kMaxMessageBytes = 16 << 20;

struct TlsFile {
  const char* option;
  const char* variable;
  const std::string& path;
};

absl::StatusOr<std::string> ReadPem(const TlsFile& file) {
  std::string path = file.path;
  if (path.empty()) {
    const char* value = std::getenv(file.variable);
    path = value == nullptr ? "" : value;
  }
  if (path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a server at HOST:PORT needs mutual TLS: set ",
                     file.option, " or ", file.variable, " to a PEM file"));
  }
  std::ifstream stream(path);
  std::stringstream content;
  content << stream.rdbuf();
  if (!stream.good() || content.str().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.option, " \"", path, "\": not a readable PEM file"));
  }
  return content.str();
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Credentials(
    const ServerAddress& address, const ConnectOptions& options) {
  if (!address.socket_path.empty()) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions tls;
  ASSIGN_OR_RETURN(tls.pem_root_certs,
                   ReadPem({"--tls-ca", "CORRAL_TLS_CA", options.tls_ca_file}));
  ASSIGN_OR_RETURN(tls.pem_cert_chain, ReadPem({"--tls-cert", "CORRAL_TLS_CERT",
                                                options.tls_certificate_file}));
  ASSIGN_OR_RETURN(tls.pem_private_key, ReadPem({"--tls-key", "CORRAL_TLS_KEY",
                                                 options.tls_key_file}));
  return grpc::SslCredentials(tls);
}

int ToMilliseconds(absl::Duration duration) {
  return static_cast<int>(
      std::min<int64_t>(absl::ToInt64Milliseconds(duration), INT_MAX));
}

grpc::ChannelArguments Arguments(const Timing& timing) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  // Only callers know whether a call may be made twice.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS,
                   ToMilliseconds(timing.keepalive_interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                   ToMilliseconds(timing.keepalive_timeout));
  // 0 means no limit for pings while an open call sends nothing, as
  // WaitExecution does.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return arguments;
}

// Makes the settings of grpc_process.h, and keeps gRPC from shutting down with
// its last object: that may wait 10 s for a poller that a full socket needed
// (run_poller in tcp_posix.cc).
void PrepareGrpc() {
  [[maybe_unused]] static const bool prepared = [] {
    sandbox::PrepareForGrpc();
    ::grpc_init();
    return true;
  }();
}

std::chrono::system_clock::time_point ToDeadline(absl::Time time) {
  return absl::ToChronoTime(time);
}

// Makes a call, because gRPC reports only to calls why a channel does not
// connect. OK if the server answers after all.
absl::Status TryACall(const ServerAddress& address, grpc::Channel& channel) {
  grpc::ClientContext context;
  context.set_deadline(ToDeadline(absl::Now() + absl::Seconds(1)));
  corral::v1::ServerInfo info;
  const absl::Status status = ToStatus(
      corral::v1::AdminService::NewStub(
          std::shared_ptr<grpc::Channel>(&channel, [](grpc::Channel*) {}))
          ->GetServerInfo(&context, {}, &info));
  if (status.ok() || channel.GetState(false) == GRPC_CHANNEL_READY) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("no server at ", address.text, ": ", status.message()));
}

// Waits in every state: gRPC reads the first bytes of a new connection only
// while a thread waits for it, and otherwise once in 5 s.
bool BecomesReady(grpc::Channel& channel, absl::Time deadline) {
  grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY) {
    if (!channel.WaitForStateChange(state, ToDeadline(deadline))) {
      return false;
    }
    state = channel.GetState(/*try_to_connect=*/true);
  }
  return true;
}

// OK for HOST:PORT, where only a connection shows whether a server listens.
absl::Status EnsureListening(const ServerAddress& address,
                             absl::Time deadline) {
  if (address.socket_path.empty()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const bool listening, IsListening(address.socket_path));
  if (listening) {
    return absl::OkStatus();
  }
  if (!address.is_default) {
    return absl::UnavailableError(
        absl::StrCat("no server listens at ", address.text));
  }
  const absl::StatusOr<std::string> program = NeighbouringServer();
  if (!program.ok()) {
    return absl::UnavailableError(absl::StrCat("no server listens at ",
                                               address.text, "; ",
                                               program.status().message()));
  }
  return EnsureLocalServer(address.socket_path, *program, deadline);
}

// False if there was never a server at the socket: its directory is missing.
bool MayBeRestarting(const ServerAddress& address) {
  const std::string directory =
      address.socket_path.substr(0, address.socket_path.rfind('/'));
  return directory.empty() || ::access(directory.c_str(), F_OK) == 0;
}

// Starts a server if need be, which must listen within `start_timeout`, then
// tries for kReconnectInterval. False: no connection yet, which a later attempt
// may change; an error: no server listens.
absl::StatusOr<bool> TryToConnect(const ServerAddress& address,
                                  grpc::Channel& channel,
                                  absl::Duration start_timeout) {
  RETURN_IF_ERROR(EnsureListening(address, absl::Now() + start_timeout));
  grpc::experimental::ChannelResetConnectionBackoff(&channel);
  return BecomesReady(channel, absl::Now() + kReconnectInterval);
}

// Connects for the first time. Allows for a server that is being restarted.
absl::Status Reach(const ServerAddress& address, grpc::Channel& channel,
                   const Timing& timing) {
  absl::Time begin = timing.now();
  bool listened = false;
  for (;;) {
    const absl::StatusOr<bool> connected =
        TryToConnect(address, channel, kStartTimeout);
    if (connected.ok() && *connected) {
      return absl::OkStatus();
    }
    const absl::Duration elapsed = timing.now() - begin;
    if (!connected.ok()) {
      if (!absl::IsUnavailable(connected.status()) ||
          elapsed > kRestartTimeout || !MayBeRestarting(address)) {
        return connected.status();
      }
      absl::SleepFor(kListenInterval);
      continue;
    }
    // The time in which a server starts is not a time in which it is silent.
    if (!std::exchange(listened, true)) {
      begin = timing.now();
      continue;
    }
    // A connection in progress may only be slow; a failed one was refused.
    const bool refused =
        channel.GetState(false) == GRPC_CHANNEL_TRANSIENT_FAILURE;
    if (elapsed > (refused ? kRestartTimeout : kConnectTimeout)) {
      return TryACall(address, channel);
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(
    const ConnectOptions& options) {
  PrepareGrpc();
  ASSIGN_OR_RETURN(ServerAddress address, ResolveServerAddress(options.server));
  ASSIGN_OR_RETURN(const auto credentials, Credentials(address, options));
  std::shared_ptr<grpc::Channel> channel = grpc::CreateCustomChannel(
      address.text, credentials, Arguments(options.timing));
  RETURN_IF_ERROR(Reach(address, *channel, options.timing));
  return std::unique_ptr<Connection>(
      new Connection(std::move(address), options.timing, std::move(channel)));
}

Connection::Connection(ServerAddress address, Timing timing,
                       std::shared_ptr<grpc::Channel> channel)
    : address_(std::move(address)),
      timing_(std::move(timing)),
      channel_(std::move(channel)),
      sandboxes_(corral::v1::SandboxService::NewStub(channel_)),
      executions_(corral::v1::ExecutionService::NewStub(channel_)),
      screens_(corral::v1::ScreenService::NewStub(channel_)),
      ports_(corral::v1::PortService::NewStub(channel_)),
      admin_(corral::v1::AdminService::NewStub(channel_)) {}

bool Connection::Reconnect(absl::Time deadline,
                           const std::function<bool()>& abandoned) {
  while (timing_.now() < deadline && !abandoned()) {
    const absl::StatusOr<bool> connected =
        TryToConnect(address_, *channel_, kConnectTimeout);
    if (connected.ok() && *connected) {
      return true;
    }
    if (!connected.ok()) {
      absl::SleepFor(kListenInterval);
    }
  }
  return false;
}

}  // namespace client
