#include "bridge/client/connection.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bridge/client/local_server.h"
#include "grpc/grpc.h"
#include "grpcpp/security/credentials.h"
#include "sandbox/base/status_macros.h"

namespace client {
namespace {

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
        absl::StrCat("a server at HOST:PORT takes mutual TLS: no ", file.option,
                     " is given, as option or as ", file.variable));
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

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  // A call is made once: who may repeat it is for the caller to say.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return arguments;
}

// gRPC shuts down when its last object goes, and that may wait 10 s for a
// poller that a full socket needed (run_poller in tcp_posix.cc). It is never
// shut down.
void KeepGrpc() {
  [[maybe_unused]] static const bool kept = (::grpc_init(), true);
}

std::chrono::system_clock::time_point ToDeadline(absl::Time time) {
  return absl::ToChronoTime(time);
}

// Why a channel does not connect is told only to a call.
absl::Status WhyNotConnected(const ServerAddress& address,
                             grpc::Channel& channel) {
  grpc::ClientContext context;
  context.set_deadline(ToDeadline(absl::Now() + absl::Seconds(1)));
  corral::v1::ServerInfo info;
  const absl::Status status = ToStatus(
      corral::v1::AdminService::NewStub(
          std::shared_ptr<grpc::Channel>(&channel, [](grpc::Channel*) {}))
          ->GetServerInfo(&context, {}, &info));
  return absl::UnavailableError(
      absl::StrCat("no server at ", address.text, ": ",
                   status.ok() ? "it does not stay" : status.message()));
}

// Waits, whatever the state: gRPC reads what a new connection sends first only
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

// Of a Unix socket it is known at once whether somebody listens.
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

// Without its directory there was never a server at the socket.
bool MayBeRestarting(const ServerAddress& address) {
  const std::string directory =
      address.socket_path.substr(0, address.socket_path.rfind('/'));
  return directory.empty() || ::access(directory.c_str(), F_OK) == 0;
}

// Takes a server in the middle of a restart for one that will be there.
absl::Status Reach(const ServerAddress& address, grpc::Channel& channel) {
  const absl::Time begin = absl::Now();
  const absl::Time deadline = begin + kConnectTimeout;
  for (;;) {
    absl::Status listening = EnsureListening(address, deadline);
    const absl::Time now = absl::Now();
    if (!listening.ok()) {
      if (!absl::IsUnavailable(listening) || now - begin > kRestartTimeout ||
          !MayBeRestarting(address)) {
        return listening;
      }
      absl::SleepFor(kListenInterval);
      continue;
    }
    grpc::experimental::ChannelResetConnectionBackoff(&channel);
    if (BecomesReady(channel, now + kReconnectInterval)) {
      return absl::OkStatus();
    }
    // A connection that is being made may be slow, one that fails is refused.
    const bool fails =
        channel.GetState(false) == GRPC_CHANNEL_TRANSIENT_FAILURE;
    if (now - begin > (fails ? kRestartTimeout : kConnectTimeout)) {
      return WhyNotConnected(address, channel);
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(
    const ConnectOptions& options) {
  KeepGrpc();
  ASSIGN_OR_RETURN(ServerAddress address, ResolveServerAddress(options.server));
  ASSIGN_OR_RETURN(const auto credentials, Credentials(address, options));
  std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(address.text, credentials, Arguments());
  RETURN_IF_ERROR(Reach(address, *channel));
  return std::unique_ptr<Connection>(
      new Connection(std::move(address), std::move(channel)));
}

Connection::Connection(ServerAddress address,
                       std::shared_ptr<grpc::Channel> channel)
    : address_(std::move(address)),
      channel_(std::move(channel)),
      sandboxes_(corral::v1::SandboxService::NewStub(channel_)),
      executions_(corral::v1::ExecutionService::NewStub(channel_)),
      admin_(corral::v1::AdminService::NewStub(channel_)) {}

bool Connection::Reconnect(absl::Time deadline,
                           const std::function<bool()>& abandoned) {
  while (absl::Now() < deadline && !abandoned()) {
    if (!EnsureListening(address_, deadline).ok()) {
      absl::SleepFor(kListenInterval);
      continue;
    }
    grpc::experimental::ChannelResetConnectionBackoff(channel_.get());
    if (BecomesReady(*channel_, absl::Now() + kReconnectInterval)) {
      return true;
    }
  }
  return false;
}

}  // namespace client
