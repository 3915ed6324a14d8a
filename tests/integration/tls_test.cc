// A server on TCP, where both sides must show a certificate.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/client/connection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/integration/certificates.h"
#include "tests/integration/integration_test.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::testing::_;
using ::testing::HasSubstr;

// Returns a port that nobody listened on a moment ago.
int FreePort() {
  const sandbox::UniqueFd socket(
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size),
            0);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ::ntohs(address.sin_port);
}

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Certificates::CanMake()) {
      GTEST_SKIP() << "there is no openssl command to make certificates with";
    }
    certificates_.MakeAuthority("ca");
    certificates_.MakeCertificate("server", "ca", "127.0.0.1");
    certificates_.MakeCertificate("client", "ca", "127.0.0.1");
    certificates_.MakeAuthority("other-ca");
    certificates_.MakeCertificate("stranger", "other-ca", "127.0.0.1");
    address_ = absl::StrCat("127.0.0.1:", FreePort());
  }

  void Launch(const std::string& more_configuration) {
    WriteFile(
        server_.config_file(),
        absl::StrCat(certificates_.ServerConfiguration(), more_configuration));
    server_.Launch({"--config", server_.config_file(), "--listen", address_,
                    "--state-dir", server_.state_directory()});
  }

  // Connects when the server listens.
  absl::StatusOr<std::unique_ptr<client::Connection>> Connect() const {
    auto connection = client::Connection::Open(As("client"));
    while (!connection.ok() && server_.IsRunning()) {
      connection = client::Connection::Open(As("client"));
    }
    return connection;
  }

  // Creates a sandbox with this workspace.
  static grpc::Status Create(client::Connection& connection,
                             const std::string& workspace) {
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    request.mutable_sandbox()->mutable_workspace()->set_path(workspace);
    grpc::ClientContext context;
    corral::v1::Sandbox sandbox;
    return connection.sandboxes().CreateSandbox(&context, request, &sandbox);
  }

  std::string Path(const std::string& file) const {
    return certificates_.Path(file);
  }

  client::ConnectOptions As(const std::string& name) const {
    return certificates_.ClientOptions(name, address_);
  }

  Corrald server_;
  const Certificates certificates_{server_.directory()};
  std::string address_;
};

TEST_F(TlsTest, AcceptsOnlyClientsWithAGoodCertificate) {
  Launch("");
  const auto connection = Connect();
  ASSERT_THAT(connection, IsOk()) << server_.log();
  grpc::ClientContext context;
  corral::v1::ServerInfo info;
  EXPECT_TRUE((*connection)->admin().GetServerInfo(&context, {}, &info).ok());
  EXPECT_NE(info.version(), "");

  EXPECT_THAT(client::Connection::Open(As("stranger")).status(),
              StatusIs(absl::StatusCode::kUnavailable, _));
  // Also refuses clients without a certificate and without TLS.
  grpc::SslCredentialsOptions anonymous;
  anonymous.pem_root_certs = ReadFile(Path("ca.pem"));
  for (const auto& credentials :
       {grpc::SslCredentials(anonymous), grpc::InsecureChannelCredentials()}) {
    grpc::ClientContext call;
    const auto admin = corral::v1::AdminService::NewStub(
        grpc::CreateChannel(address_, credentials));
    EXPECT_EQ(admin->GetServerInfo(&call, {}, &info).error_code(),
              grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_F(TlsTest, ACertificateAloneOpensNoDirectoryOfTheHost) {
  Launch("");
  const auto connection = Connect();
  ASSERT_THAT(connection, IsOk()) << server_.log();
  for (const std::string& workspace :
       {std::string("/root"), std::string("/home"), std::string("/run"),
        std::string("/var/lib/corral"), server_.workspace(),
        server_.state_directory(), server_.directory()}) {
    const grpc::Status status = Create(**connection, workspace);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("workspace_roots"))
        << workspace;
  }
}

TEST_F(TlsTest, AWorkspaceMustLieBelowAConfiguredRoot) {
  Launch(absl::StrCat(" workspace_roots: \"", server_.directory(), "\""));
  const auto connection = Connect();
  ASSERT_THAT(connection, IsOk()) << server_.log();
  std::filesystem::create_directory_symlink(server_.state_directory(),
                                            Path("to_state"));
  std::filesystem::create_directory_symlink("/etc", Path("to_etc"));
  for (const std::string& workspace :
       {std::string("/root"), std::string("/run"), std::string("/etc"),
        server_.directory(), server_.state_directory(),
        server_.state_directory() + "/sandboxes", Path("to_state"),
        Path("to_etc")}) {
    const grpc::Status status = Create(**connection, workspace);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << workspace << ": " << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("sandbox.workspace.path"));
  }
  const grpc::Status status = Create(**connection, server_.workspace());
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace tests
