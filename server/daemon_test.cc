// The whole server on a Unix socket.

#include "server/daemon.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/admin.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/base/version.h"
#include "sandbox/kernel/isolation.h"
#include "server/daemon_fixture.h"
#include "server/net/listener.h"
#include "server/runtime/activity.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

using DaemonTest = DaemonFixture;

TEST_F(DaemonTest, ServesOnASocketOfItsOwnerAlone) {
  Serve();
  struct stat info = {};
  ASSERT_EQ(::stat(socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  ASSERT_EQ(::stat(absl::StrCat(path_, "/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);

  const corral::v1::ServerInfo response = Info();
  EXPECT_EQ(response.isolation(0).name(), "seccomp");
  EXPECT_EQ(response.default_limits().pids(), 4096);
  EXPECT_THAT(response.kernel(), HasSubstr("Linux"));
}

TEST_F(DaemonTest, ReportsItsHealth) {
  Serve();
  EXPECT_EQ(Health(""), kServing);
}

TEST_F(DaemonTest, ListsItsServices) {
  Serve();
  // ServerReflectionRequest{list_services}
  const std::string services =
      Call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
           "\x3a\x01*");
  for (const char* name :
       {"corral.v1.AdminService", "corral.v1.ExecutionService",
        "corral.v1.PortService", "corral.v1.SandboxService",
        "corral.v1.ScreenService", "grpc.health.v1.Health"}) {
    EXPECT_THAT(services, HasSubstr(name));
  }
}

TEST_F(DaemonTest, ReportsThatItsStorageFails) {
  Serve();
  EXPECT_EQ(Health("corral.v1.Storage"), kServing);
  const auto sandboxes =
      std::filesystem::path(state_->SandboxPath("box")).parent_path();
  const auto aside = sandboxes.parent_path() / "aside";
  std::filesystem::rename(sandboxes, aside);
  EXPECT_EQ(Create("box").error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Health("corral.v1.Storage"), kNotServing);
  EXPECT_EQ(Health(""), kServing);
  std::filesystem::rename(aside, sandboxes);
  EXPECT_TRUE(Create("box").ok());
  EXPECT_EQ(Health("corral.v1.Storage"), kServing);
}

TEST_F(DaemonTest, RemovesWhatAnEarlierServerLeft) {
  const std::string left = config_.state_dir() + "/sandboxes/.removed-box";
  std::filesystem::create_directories(left);
  Serve();
  while (std::filesystem::exists(left)) {
    std::this_thread::yield();
  }
}

TEST_F(DaemonTest, DoesNotServeWhenItsSandboxesCannotBeListed) {
  daemon_ = std::make_unique<Daemon>(config_,
                                     std::vector<sandbox::IsolationFeature>(),
                                     &factory_, state_.get());
  listener_ = Listener::Prepare(config_).value();
  ASSERT_THAT(listener_->Listen(), IsOk());
  std::filesystem::remove(config_.state_dir() + "/sandboxes");
  EXPECT_THAT(daemon_->Start(listener_.get()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("sandboxes")));
}

TEST_F(DaemonTest, RefusesASocketThatAnotherServerAnswersOn) {
  Serve();
  EXPECT_THAT(Listener::Prepare(config_).value()->Listen(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(socket())));
}

TEST_F(DaemonTest, ReplacesAStaleSocketButNoOtherFile) {
  std::filesystem::create_directories(absl::StrCat(path_, "/run"));
  std::ofstream(socket()) << "precious";
  EXPECT_THAT(
      Listener::Prepare(config_).value()->Listen(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a socket")));
  std::filesystem::remove(socket());

  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const sandbox::UniqueFd stale(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(stale.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
  Serve();
}

TEST_F(DaemonTest, NamesTheCertificateThatItCannotRead) {
  config_.set_listen("localhost:4444");
  config_.mutable_tls()->set_client_ca_file(absl::StrCat(path_, "/ca.pem"));
  EXPECT_THAT(
      Listener::Prepare(config_).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/ca.pem")));
}

TEST_F(DaemonTest, LeavesFilesThatItCannotRemoveToTheNextServer) {
  Serve();
  ASSERT_TRUE(Create("box").ok());
  // No directory can be renamed to a file.
  std::ofstream(absl::StrCat(config_.state_dir(), "/sandboxes/.removed-box"))
      << "x";
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kLeft);
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    EXPECT_FALSE(supervisor.alive());
  });
}

TEST_F(DaemonTest, ReportsWhatTheHostEnforces) {
  const auto feature = [](const char* name, bool enforced, const char* gap) {
    sandbox::IsolationFeature made;
    made.name = name;
    made.enforced = enforced;
    made.required = enforced;
    made.detail = "why";
    made.gap = gap;
    return made;
  };
  Serve({feature("whole", true, ""), feature("partly", true, "but"),
         feature("none", false, "")});
  const corral::v1::ServerInfo info = Info();
  ASSERT_EQ(info.isolation_size(), 3);
  EXPECT_EQ(info.isolation(0).ShortDebugString(),
            "name: \"whole\" enforced: true required: true detail: \"why\" "
            "state: ENFORCED");
  EXPECT_EQ(info.isolation(1).ShortDebugString(),
            "name: \"partly\" enforced: true required: true detail: \"why; "
            "but\" state: DEGRADED");
  EXPECT_EQ(info.isolation(2).ShortDebugString(),
            "name: \"none\" detail: \"why\" state: MISSING");
  EXPECT_EQ(info.version(), sandbox::kVersion);
  EXPECT_FALSE(info.draining());
}

}  // namespace
}  // namespace server
