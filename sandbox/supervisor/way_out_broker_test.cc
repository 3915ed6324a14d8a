#include "sandbox/supervisor/way_out_broker.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/egress_process.h"
#include "sandbox/supervisor/credential_server.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

namespace egress = ::corral::egress::v1;

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uid_t kUser = 65533;

class WayOutBrokerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    char name[] = "/tmp/way_out_broker_test.XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  void TearDown() override {
    if (started_.has_value()) {
      started_->process.End();
    }
    broker_.reset();
    if (!directory_.empty()) {
      std::filesystem::remove_all(directory_);
    }
  }

  void AddService() {
    CredentialServer::Source* const source = sources_.Add();
    source->set_service("model");
    source->set_file(directory_ + "/key");
    source->set_ca_file(directory_ + "/authority");
    tests::WriteFile(directory_ + "/key", "secret\n");
    tests::WriteFile(directory_ + "/authority", "");
  }
  void Begin(absl::Duration patience = WayOutBroker::kPatience) {
    absl::StatusOr<WayOutBroker> broker =
        WayOutBroker::Start(kUser, sources_, {}, patience);
    ASSERT_THAT(broker.status(), IsOk());
    broker_.emplace(*std::move(broker));
  }
  absl::Status StartEgress() {
    absl::StatusOr<WayOutBroker::Started> started = broker_->StartEgress();
    if (started.ok()) {
      started_.emplace(*std::move(started));
    }
    return started.status();
  }
  // The broker, which is no child for waitpid(2), once it has its name.
  static pid_t Broker() {
    for (;;) {
      std::ifstream children("/proc/thread-self/children");
      for (pid_t child; children >> child;) {
        if (tests::ReadFile(absl::StrCat("/proc/", child, "/comm")) ==
            "corral-broker\n") {
          return child;
        }
      }
      ::sched_yield();
    }
  }
  // A line of the status of a process.
  static std::string LineOf(pid_t pid, const std::string& field) {
    std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
    std::string line;
    while (std::getline(status, line) && line.rfind(field, 0) != 0) {
    }
    return line;
  }

  std::string directory_;
  CredentialServer::Sources sources_;
  std::optional<WayOutBroker> broker_;
  std::optional<WayOutBroker::Started> started_;
};

TEST_F(WayOutBrokerTest, StartsAProcessThatIsAChildOfItsSupervisor) {
  Begin();
  ASSERT_THAT(StartEgress(), IsOk());
  const pid_t pid = started_->process.pid;
  EXPECT_EQ(LineOf(pid, "PPid:"), absl::StrCat("PPid:\t", ::getpid()));
  EXPECT_THAT(started_->descriptors, IsEmpty());
  started_->process.End();
  EXPECT_EQ(::kill(pid, 0), -1) << "it was not reaped";
}

TEST_F(WayOutBrokerTest, GivesEachProcessTheCredentialsOfItsServices) {
  AddService();
  Begin();
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(StartEgress(), IsOk());
    ASSERT_THAT(started_->descriptors, SizeIs(2));
    ASSERT_EQ(started_->descriptions.size(), 2);
    EXPECT_EQ(started_->descriptions[0].kind(),
              egress::Descriptor::CREDENTIALS);
    EXPECT_EQ(started_->descriptions[1].kind(),
              egress::Descriptor::AUTHORITIES);
    EXPECT_EQ(started_->descriptions[1].service(), "model");
    const int socket = started_->descriptors[0].get();
    egress::CredentialRequest request;
    request.set_service("model");
    const std::string bytes = request.SerializeAsString();
    ASSERT_EQ(::send(socket, bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    char answer[1024];
    const ssize_t got = ::recv(socket, answer, sizeof(answer), 0);
    egress::Credential credential;
    ASSERT_TRUE(credential.ParseFromArray(answer, static_cast<int>(got)));
    EXPECT_EQ(credential.value(), "secret");
    started_->process.End();
  }
}

TEST_F(WayOutBrokerTest, NamesTheFileThatCannotBeOpenedAndTriesAgain) {
  AddService();
  std::filesystem::remove(directory_ + "/authority");
  Begin();
  EXPECT_THAT(
      StartEgress(),
      StatusIs(absl::StatusCode::kInternal,
               HasSubstr(absl::StrCat("service model: open ", directory_,
                                      "/authority: No such file"))));
  EXPECT_EQ(::waitpid(-1, nullptr, 0), -1) << "a process was started";
  tests::WriteFile(directory_ + "/authority", "");
  EXPECT_THAT(StartEgress(), IsOk());
}

TEST_F(WayOutBrokerTest, IsNotAwaitedForEver) {
  Begin(absl::Milliseconds(50));
  ASSERT_EQ(::kill(Broker(), SIGSTOP), 0);
  EXPECT_THAT(StartEgress(), StatusIs(absl::StatusCode::kUnavailable,
                                      HasSubstr("corral-broker: ")));
  ASSERT_EQ(::kill(Broker(), SIGCONT), 0);
  // A process that it has started meanwhile is not taken, and ends.
  while (absl::IsUnavailable(StartEgress())) {
  }
  ASSERT_TRUE(started_.has_value());
  EXPECT_NE(::waitpid(-1, nullptr, 0), started_->process.pid);
  EXPECT_EQ(::kill(started_->process.pid, 0), 0);
}

TEST_F(WayOutBrokerTest, IsMissedWhenItHasEnded) {
  Begin();
  ASSERT_EQ(::kill(Broker(), SIGKILL), 0);
  EXPECT_THAT(StartEgress(), StatusIs(absl::StatusCode::kUnavailable,
                                      HasSubstr("corral-broker")));
}

// Returns the effective capabilities of a process.
uint64_t CapabilitiesIn(const std::string& line) {
  return std::stoull(line.substr(line.find('\t') + 1), nullptr, 16);
}

TEST_F(WayOutBrokerTest, HasOnlyTheRightsThatItNeeds) {
  Begin();
  ASSERT_THAT(StartEgress(), IsOk());
  uint64_t needed = 0;
  for (const int capability :
       {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_KILL,
        CAP_SETGID, CAP_SETUID, CAP_SYS_RESOURCE}) {
    needed |= uint64_t{1} << capability;
  }
  for (const char* set : {"CapEff:", "CapBnd:"}) {
    EXPECT_EQ(CapabilitiesIn(LineOf(Broker(), set)),
              needed & CapabilitiesIn(LineOf(::getpid(), set)))
        << set;
  }
}

}  // namespace
}  // namespace sandbox
