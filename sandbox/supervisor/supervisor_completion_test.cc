// A sandbox that is completed before it is requested.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/supervisor/supervisor_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;

class SupervisorCompletionTest : public SupervisorTest {
 protected:
  SupervisorCompletionTest() {
    std::string path = "/var/tmp/corral-completion-XXXXXX";
    host_ = ::mkdtemp(path.data());
    workspace_ = host_ + "/work";
    MakeWorkspace("first");
  }
  ~SupervisorCompletionTest() override { std::filesystem::remove_all(host_); }

  // Makes the workspace, with a file that has `text`.
  void MakeWorkspace(const std::string& text) const {
    std::filesystem::create_directory(workspace_);
    std::ofstream(workspace_ + "/file") << text << "\n";
  }
  // Sets what the sandbox is, whoever asks for it.
  void Describe(wire::SandboxSpec& spec) const {
    spec.set_memory_bytes(uint64_t{256} << 20);
    spec.set_pids(100);
    spec.set_workspace(workspace_);
  }
  wire::Reply Complete(const std::function<void(wire::SandboxSpec&)>& fill =
                           [](wire::SandboxSpec&) {}) {
    return Ask([&](wire::ToSupervisor& request) {
      Describe(*request.mutable_complete_sandbox());
      fill(*request.mutable_complete_sandbox());
    });
  }
  wire::Reply CreateNamed(const std::function<void(wire::SandboxSpec&)>& fill =
                              [](wire::SandboxSpec&) {}) {
    return Create([&](wire::SandboxSpec& spec) {
      Describe(spec);
      spec.set_id("box");
      spec.set_create_time_ns(5);
      fill(spec);
    });
  }
  // Returns true if the supervisor ends instead of answering the request for
  // the sandbox.
  bool EndsWhenCreated(const std::function<void(wire::SandboxSpec&)>& fill =
                           [](wire::SandboxSpec&) {}) {
    wire::ToSupervisor request;
    request.set_request_id(99);
    Describe(*request.mutable_create_sandbox());
    request.mutable_create_sandbox()->set_directory(directory_);
    fill(*request.mutable_create_sandbox());
    Send(request);
    wire::FromSupervisor message;
    while (Receive(&message)) {
      if (message.has_reply()) {
        created_ = message.reply().failure() == wire::Reply::NONE;
        return false;
      }
    }
    return true;
  }

  std::string host_;
  std::string workspace_;
};

TEST_F(SupervisorCompletionTest, HasEverythingReadyForItsRequest) {
  const wire::Reply completed = Complete();
  if (absl::StrContains(completed.message(), "no idmapped mounts")) {
    GTEST_SKIP() << completed.message();
  }
  ASSERT_EQ(completed.failure(), wire::Reply::NONE) << completed.message();
  const wire::Reply created = CreateNamed();
  ASSERT_EQ(created.failure(), wire::Reply::NONE) << created.message();
  EXPECT_TRUE(created.trace().completed_ahead());
  EXPECT_EQ(
      Run("e1", absl::StrCat("cat ", workspace_, "/file; echo new > ",
                             workspace_, "/new; cat ", workspace_, "/new")),
      0);
  EXPECT_EQ(Output("e1"), "first\nnew\n");
  EXPECT_TRUE(std::filesystem::exists(workspace_ + "/new"));
}

TEST_F(SupervisorCompletionTest, AnswersWhenItIsPreparedForAnySandbox) {
  const wire::Reply prepared = Ask([](wire::ToSupervisor& request) {
    request.mutable_complete_sandbox()->set_profile(wire::SandboxSpec::DEFAULT);
  });
  ASSERT_EQ(prepared.failure(), wire::Reply::NONE) << prepared.message();
  const wire::Reply created = CreateNamed();
  if (absl::StrContains(created.message(), "no idmapped mounts")) {
    GTEST_SKIP() << created.message();
  }
  ASSERT_EQ(created.failure(), wire::Reply::NONE) << created.message();
  EXPECT_FALSE(created.trace().completed_ahead());
  EXPECT_EQ(Run("e1", absl::StrCat("cat ", workspace_, "/file")), 0);
  EXPECT_EQ(Output("e1"), "first\n");
}

TEST_F(SupervisorCompletionTest, IsNotCompletedOnceItIsReady) {
  ASSERT_EQ(CreateNamed().failure(), wire::Reply::NONE);
  const wire::Reply late = Ask([&](wire::ToSupervisor& request) {
    Describe(*request.mutable_complete_sandbox());
  });
  EXPECT_EQ(late.failure(), wire::Reply::FAULT);
  EXPECT_EQ(Run("e1", "exit 3"), 3 << 8) << "a late request changes nothing";
}

TEST_F(SupervisorCompletionTest, GoesIfNobodyAsksForIt) {
  ASSERT_EQ(Complete().failure(), wire::Reply::NONE);
  const std::string group = GroupName();
  EXPECT_EQ(End(), 7 << 8);
  EXPECT_FALSE(std::filesystem::exists("/sys/fs/cgroup/pids/corral/" + group));
}

TEST_F(SupervisorCompletionTest, GoesIfItsWorkspaceWasReplaced) {
  ASSERT_EQ(Complete().failure(), wire::Reply::NONE);
  std::filesystem::rename(workspace_, host_ + "/aside");
  MakeWorkspace("second");
  EXPECT_TRUE(EndsWhenCreated());
}

TEST_F(SupervisorCompletionTest, GoesIfItsWorkspaceIsReachedByALink) {
  ASSERT_EQ(Complete().failure(), wire::Reply::NONE);
  std::filesystem::rename(workspace_, host_ + "/aside");
  std::filesystem::create_directory_symlink(host_ + "/aside", workspace_);
  EXPECT_TRUE(EndsWhenCreated());
}

TEST_F(SupervisorCompletionTest, GoesIfItsWorkspaceHasAnotherOwner) {
  ASSERT_EQ(Complete().failure(), wire::Reply::NONE);
  ASSERT_EQ(::chown(workspace_.c_str(), 1234, -1), 0);
  EXPECT_TRUE(EndsWhenCreated());
}

TEST_F(SupervisorCompletionTest, GoesIfItsWorkspaceHasAnotherGroup) {
  ASSERT_EQ(Complete().failure(), wire::Reply::NONE);
  ASSERT_EQ(::chown(workspace_.c_str(), -1, 1234), 0);
  EXPECT_TRUE(EndsWhenCreated());
}

TEST_F(SupervisorCompletionTest, GoesIfAnotherSandboxIsRequested) {
  ASSERT_EQ(Complete().failure(), wire::Reply::NONE);
  EXPECT_TRUE(
      EndsWhenCreated([](wire::SandboxSpec& spec) { spec.set_pids(99); }));
}

TEST_F(SupervisorCompletionTest, IsRefusedForWhatHasAnEffectOnTheHost) {
  const wire::Reply refused =
      Complete([](wire::SandboxSpec& spec) { spec.mutable_egress(); });
  EXPECT_EQ(refused.failure(), wire::Reply::FAULT);
  EXPECT_THAT(refused.message(), HasSubstr("completed ahead"));
}

TEST_F(SupervisorCompletionTest, ReportsWhyItCannotBeCompleted) {
  const wire::Reply refused = Complete([](wire::SandboxSpec& spec) {
    spec.set_workspace("/var/tmp/there-is-none");
  });
  EXPECT_EQ(refused.failure(), wire::Reply::WORKSPACE);
}

}  // namespace
}  // namespace sandbox
