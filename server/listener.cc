#include "server/listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "server/listen_address.h"

namespace server {
namespace {

absl::Status CheckFree(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus()
                           : absl::ErrnoToStatus(errno, path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("listen: ", path, " exists and is not a socket"));
  }
  const sandbox::UniqueFd probe(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("listen: another server answers on ", path));
  }
  if (errno != ECONNREFUSED || ::unlink(path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  return absl::OkStatus();
}

absl::Status PrepareSocket(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  if (!directory.empty() && ::mkdir(directory.c_str(), 0700) != 0 &&
      errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mkdir(", directory, ")"));
  }
  return CheckFree(path);
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("tls: cannot read ", path));
  }
  return text.str();
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MutualTls(
    const corral::config::v1::Tls& tls) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ASSIGN_OR_RETURN(options.pem_root_certs, ReadPem(tls.client_ca_file()));
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  ASSIGN_OR_RETURN(pair.private_key, ReadPem(tls.private_key_file()));
  ASSIGN_OR_RETURN(pair.cert_chain, ReadPem(tls.certificate_chain_file()));
  options.pem_key_cert_pairs.push_back(std::move(pair));
  return grpc::SslServerCredentials(options);
}

}  // namespace

absl::StatusOr<Listener> Listener::Prepare(
    const corral::config::v1::ServerConfig& config) {
  ASSIGN_OR_RETURN(const ListenAddress address,
                   ParseListenAddress(config.listen()));
  if (address.is_socket()) {
    RETURN_IF_ERROR(PrepareSocket(address.socket_path));
    return Listener(config.listen(), grpc::InsecureServerCredentials());
  }
  ASSIGN_OR_RETURN(std::shared_ptr<grpc::ServerCredentials> credentials,
                   MutualTls(config.tls()));
  return Listener(address.host_and_port, std::move(credentials));
}

absl::StatusOr<std::unique_ptr<grpc::Server>> Listener::Start(
    grpc::ServerBuilder* builder) const {
  // The mode of a socket is that of its birth: later would be too late.
  const mode_t mask = ::umask(0177);
  const auto restore = absl::MakeCleanup([mask] { ::umask(mask); });
  int port = 0;
  builder->AddListeningPort(address_, credentials_, &port);
  std::unique_ptr<grpc::Server> server = builder->BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address_,
                     ": the address is taken or the certificates are no good"));
  }
  return server;
}

}  // namespace server
