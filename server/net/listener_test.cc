#include "server/net/listener.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/v1/admin.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/certificate_files.h"
#include "tests/network/loopback.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using corral::v1::AdminService;
using ::testing::_;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

// The answer of a server without methods.
constexpr grpc::StatusCode kServed = grpc::StatusCode::UNIMPLEMENTED;

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() {
    char name[] = "/tmp/corral_listener_XXXXXX";
    directory_ = ::mkdtemp(name);
    config_.set_listen("unix:" + Path("sock"));
    config_.set_max_connections(2);
  }
  ~ListenerTest() override {
    if (server_ != nullptr) {
      listener_->Pause();
      server_->Shutdown();
      server_.reset();
    }
    listener_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string Path(const std::string& file) const {
    return absl::StrCat(directory_, "/", file);
  }
  std::string ReadText(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(Path(file)).rdbuf();
    return text.str();
  }
  // A predecessor that listens on another address.
  std::unique_ptr<Listener> ListenElsewhere() const {
    corral::config::v1::ServerConfig other = config_;
    other.set_listen("unix:" + Path("other"));
    std::unique_ptr<Listener> listener = Listener::Prepare(other).value();
    EXPECT_THAT(listener->Listen(), IsOk());
    return listener;
  }
  static std::vector<sandbox::UniqueFd> SocketsOf(const Listener& listener) {
    std::vector<sandbox::UniqueFd> copies;
    for (const int fd : listener.fds()) {
      copies.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    return copies;
  }
  void Serve() {
    listener_ = Listener::Prepare(config_).value();
    ASSERT_THAT(listener_->Listen(), IsOk());
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = listener_->Start(&builder).value();
  }
  // Makes a call through a connection of its own, which the stub keeps.
  std::unique_ptr<AdminService::Stub> Connect(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetSslTargetNameOverride("server");
    return AdminService::NewStub(
        grpc::CreateCustomChannel(config_.listen(), credentials, arguments));
  }
  static grpc::StatusCode Call(AdminService::Stub* stub) {
    grpc::ClientContext context;
    corral::v1::ServerInfo response;
    return stub->GetServerInfo(&context, {}, &response).error_code();
  }
  // The client has the certificate and the key `name`; none if it is empty.
  grpc::StatusCode CallWithCertificate(const std::string& name) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadText("server.pem");
    if (!name.empty()) {
      options.pem_cert_chain = ReadText(name + ".pem");
      options.pem_private_key = ReadText(name + ".key");
    }
    return Call(Connect(grpc::SslCredentials(options)).get());
  }

  std::string directory_;
  corral::config::v1::ServerConfig config_;
  std::unique_ptr<Listener> listener_;
  AdminService::CallbackService service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ListenerTest, ListensByItselfIfItsPredecessorHadAnotherAddress) {
  const auto predecessor = ListenElsewhere();
  const auto listener = Listener::Prepare(config_).value();
  EXPECT_THAT(listener->Adopt(SocketsOf(*predecessor)), IsOk());
  EXPECT_EQ(listener->fds().size(), 1);
  EXPECT_TRUE(std::filesystem::exists(Path("sock")));
  EXPECT_FALSE(std::filesystem::exists(Path("other")));
}

TEST_F(ListenerTest, KeepsItsOwnSocketsIfItListensAlready) {
  const auto predecessor = ListenElsewhere();
  const auto listener = Listener::Prepare(config_).value();
  ASSERT_THAT(listener->Listen(), IsOk());
  const std::vector<int> before = listener->fds();
  EXPECT_THAT(listener->Adopt(SocketsOf(*predecessor)), IsOk());
  EXPECT_EQ(listener->fds(), before);
  EXPECT_TRUE(std::filesystem::exists(Path("sock")));
  EXPECT_FALSE(std::filesystem::exists(Path("other")));
}

TEST_F(ListenerTest, ReportsThatAnotherServerHasItsAddress) {
  const auto server = Listener::Prepare(config_).value();
  ASSERT_THAT(server->Listen(), IsOk());
  const auto listener = Listener::Prepare(config_).value();
  EXPECT_THAT(listener->Adopt({}),
              StatusIs(absl::StatusCode::kAlreadyExists, _));
}

TEST_F(ListenerTest, ReportsThatGrpcDoesNotStart) {
  const auto listener = Listener::Prepare(config_).value();
  ASSERT_THAT(listener->Listen(), IsOk());
  grpc::ServerBuilder without_a_service;
  EXPECT_THAT(listener->Start(&without_a_service).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("gRPC")));
}

TEST_F(ListenerTest, ServesNoMoreConnectionsThanConfigured) {
  Serve();
  std::vector<std::unique_ptr<AdminService::Stub>> stubs;
  for (int i = 0; i < 3; ++i) {
    stubs.push_back(Connect(grpc::InsecureChannelCredentials()));
    EXPECT_EQ(Call(stubs.back().get()),
              i < 2 ? kServed : grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_F(ListenerTest, ServesOnlyClientsWithACertificateOfItsAuthority) {
  for (const char* name : {"ca", "server", "stranger"}) {
    MakeCertificateFiles(directory_, name);
  }
  config_.set_listen(absl::StrCat("127.0.0.1:", tests::UnusedPort()));
  config_.set_max_connections(100);
  config_.mutable_tls()->set_client_ca_file(Path("ca.pem"));
  config_.mutable_tls()->set_certificate_chain_file(Path("server.pem"));
  config_.mutable_tls()->set_private_key_file(Path("server.key"));
  Serve();
  EXPECT_EQ(CallWithCertificate("ca"), kServed);
  EXPECT_EQ(CallWithCertificate("stranger"), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(CallWithCertificate(""), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace server
