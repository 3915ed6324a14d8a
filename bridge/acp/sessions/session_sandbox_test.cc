#include "bridge/acp/sessions/session_sandbox.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/client/connection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kFirst[] = "tenants/default/sandboxes/s1";
constexpr char kSecond[] = "tenants/default/sandboxes/s2";

class SessionSandboxTest : public ::testing::Test {
 protected:
  ~SessionSandboxTest() override { RunUntilIdle(); }

  void RunUntilIdle() {
    std::vector<pollfd> none;
    while (!calls_.idle()) {
      loop_.RunOnce(none);
    }
  }

  // Returns the name of the sandbox, or the error.
  std::string Ready() {
    std::string result;
    sandbox_->WhenReady([&result](const absl::StatusOr<std::string>& name) {
      result = name.ok() ? *name : name.status().ToString();
    });
    RunUntilIdle();
    return result;
  }

  tests::FakeServer server_{[](tests::FakeExecution&) {}};
  PollLoop loop_;
  ServerCalls calls_{&loop_, {server_.address()}};
  Deletions deletions_{&calls_};
  std::shared_ptr<SessionSandbox> sandbox_ = std::make_shared<SessionSandbox>(
      &calls_, &deletions_, corral::v1::Sandbox());
};

TEST_F(SessionSandboxTest, RenewsItsLeaseWhileItIsReady) {
  sandbox_ = std::make_shared<SessionSandbox>(
      &calls_, &deletions_, corral::v1::Sandbox(), "", absl::Milliseconds(1));
  EXPECT_EQ(Ready(), kFirst);
  EXPECT_EQ(server_.creations()[0].sandbox().lifetime().ShortDebugString(),
            "lease_timeout { seconds: 120 }");
  std::vector<pollfd> none;
  while (server_.gets().size() < 3) {
    loop_.RunOnce(none);
  }
  EXPECT_THAT(server_.gets(), Each(kFirst));
  sandbox_->Delete();
  RunUntilIdle();
  const size_t renewals = server_.gets().size();
  bool later = false;
  loop_.After(absl::Milliseconds(20), [&later] { later = true; });
  while (!later) {
    loop_.RunOnce(none);
  }
  RunUntilIdle();
  EXPECT_THAT(server_.gets(), SizeIs(renewals));
}

TEST_F(SessionSandboxTest, ReplacesASandboxUnderTheSameName) {
  sandbox_ = std::make_shared<SessionSandbox>(&calls_, &deletions_,
                                              corral::v1::Sandbox(), "own");
  const std::string own = "tenants/default/sandboxes/own";
  EXPECT_EQ(Ready(), own);
  sandbox_->GiveUp(own);
  EXPECT_EQ(Ready(), own);
  EXPECT_THAT(server_.deletions(), ElementsAre(own));
  sandbox_->Delete();
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(), ElementsAre(own, own));
  for (const auto& creation : server_.creations()) {
    EXPECT_EQ(creation.sandbox_id(), "own");
    EXPECT_EQ(creation.request_id(), "");
  }
}

TEST_F(SessionSandboxTest, IsRevivedOnlyIfItHasDied) {
  sandbox_->Revive();
  sandbox_->Revive();
  RunUntilIdle();
  EXPECT_THAT(server_.creations(), SizeIs(1));
  EXPECT_THAT(server_.gets(), IsEmpty());
  sandbox_->Revive();
  RunUntilIdle();
  EXPECT_THAT(server_.creations(), SizeIs(1));
  server_.LoseSandbox(kFirst);
  sandbox_->Revive();
  RunUntilIdle();
  EXPECT_THAT(server_.creations(), SizeIs(2));
  EXPECT_THAT(server_.gets(), ElementsAre(kFirst, kFirst));
  sandbox_->Delete();
  RunUntilIdle();
  sandbox_->Revive();
  RunUntilIdle();
  EXPECT_THAT(server_.creations(), SizeIs(2));
}

TEST_F(SessionSandboxTest, IsNotRevivedOnceItWasReplaced) {
  EXPECT_EQ(Ready(), kFirst);
  server_.LoseSandbox(kFirst);
  sandbox_->Revive();
  sandbox_->GiveUp(kFirst);
  EXPECT_EQ(Ready(), kSecond);
  EXPECT_EQ(Ready(), kSecond);
  EXPECT_THAT(server_.creations(), SizeIs(2));
}

TEST_F(SessionSandboxTest, HoldsTheLeaseOfASandboxThatItAdopts) {
  sandbox_ = std::make_shared<SessionSandbox>(
      &calls_, &deletions_, corral::v1::Sandbox(), "", absl::Milliseconds(1));
  sandbox_->Adopt(kFirst);
  EXPECT_EQ(Ready(), kFirst);
  std::vector<pollfd> none;
  while (server_.gets().size() < 2) {
    loop_.RunOnce(none);
  }
  EXPECT_THAT(server_.gets(), Each(kFirst));
  EXPECT_THAT(server_.creations(), IsEmpty());
  sandbox_->Delete();
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(), ElementsAre(kFirst));
}

TEST_F(SessionSandboxTest, AnnouncesEachSandboxThatItMakes) {
  std::vector<std::string> made;
  sandbox_->Announce(
      [&made](const std::string& name) { made.push_back(name); });
  Ready();
  sandbox_->GiveUp(kFirst);
  Ready();
  EXPECT_THAT(made, ElementsAre(kFirst, kSecond));
  sandbox_->GiveUp(kSecond);
  sandbox_->WhenReady([](const auto&) {});
  sandbox_->Delete();
  RunUntilIdle();
  EXPECT_THAT(made, SizeIs(2));
}

TEST_F(SessionSandboxTest, CreatesNothingBeforeItIsNeeded) {
  sandbox_->Delete();
  RunUntilIdle();
  EXPECT_THAT(server_.creations(), IsEmpty());
  EXPECT_THAT(server_.deletions(), IsEmpty());
}

TEST_F(SessionSandboxTest, CreatesOneSandboxHoweverOftenItIsNeeded) {
  EXPECT_EQ(Ready(), kFirst);
  EXPECT_EQ(Ready(), kFirst);
  EXPECT_THAT(server_.creations(), SizeIs(1));
}

TEST_F(SessionSandboxTest, ReplacesASandboxThatWasGivenUp) {
  EXPECT_EQ(Ready(), kFirst);
  sandbox_->GiveUp(kFirst);
  EXPECT_EQ(Ready(), kSecond);
  // A late report about the first one does not concern the second.
  sandbox_->GiveUp(kFirst);
  EXPECT_EQ(Ready(), kSecond);
  // The output of its commands can still be read.
  EXPECT_THAT(server_.deletions(), IsEmpty());
  sandbox_->Delete();
  RunUntilIdle();
  // The deletions are two calls at a time, which may arrive in either order.
  EXPECT_THAT(server_.deletions(), UnorderedElementsAre(kFirst, kSecond));
}

TEST_F(SessionSandboxTest, FailsOnceItIsDeleted) {
  EXPECT_EQ(Ready(), kFirst);
  sandbox_->Delete();
  EXPECT_EQ(Ready(), "CANCELLED: the session is closed");
  sandbox_->Delete();
  RunUntilIdle();
  EXPECT_THAT(server_.deletions(), ElementsAre(kFirst));
}

TEST_F(SessionSandboxTest, StaysDeletedWhenTheServerRefusesIt) {
  corral::v1::Sandbox wanted;
  wanted.mutable_workspace()->set_path("/w");
  wanted.add_further_workspaces()->set_path("/proc/1");
  sandbox_ = std::make_shared<SessionSandbox>(&calls_, &deletions_, wanted);
  sandbox_->WhenReady([](const auto&) {});
  sandbox_->Delete();
  RunUntilIdle();
  EXPECT_EQ(Ready(), "CANCELLED: the session is closed");
  EXPECT_THAT(server_.creations(), IsEmpty());
}

TEST_F(SessionSandboxTest, DeletesTheSandboxThatIsBeingCreated) {
  std::string error;
  sandbox_->WhenReady([&error](const absl::StatusOr<std::string>& name) {
    error = name.status().ToString();
  });
  sandbox_->Delete();
  RunUntilIdle();
  EXPECT_EQ(error, "CANCELLED: the session is closed");
  EXPECT_THAT(server_.deletions(), ElementsAre(kFirst));
}

// Calls of these tests end when the server has not answered for a while.
class SilentServerTest : public SessionSandboxTest {
 protected:
  client::ConnectOptions Impatient() const {
    client::ConnectOptions options;
    options.server = server_.address();
    options.timing.patience = absl::Seconds(5);
    return options;
  }

  void Await() {
    std::vector<pollfd> none;
    while (!impatient_.idle()) {
      loop_.RunOnce(none);
    }
  }

  ServerCalls impatient_{&loop_, Impatient()};
  Deletions forgetful_{&impatient_};
  std::shared_ptr<SessionSandbox> own_ = std::make_shared<SessionSandbox>(
      &impatient_, &forgetful_, corral::v1::Sandbox(), "own");
};

TEST_F(SilentServerTest, ASandboxIsNotRevived) {
  own_->Revive();
  Await();
  server_.StallGets(1);
  own_->Revive();
  Await();
  EXPECT_THAT(server_.creations(), SizeIs(1));
}

TEST_F(SilentServerTest, ASandboxIsReplacedWhenItCouldBeDeleted) {
  own_->Revive();
  Await();
  own_->GiveUp("tenants/default/sandboxes/own");
  server_.StallDeletions(1);
  absl::Status status;
  const auto read = [&status](const absl::StatusOr<std::string>& name) {
    status = name.status();
  };
  own_->WhenReady(read);
  Await();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(server_.creations(), SizeIs(1));
  own_->WhenReady(read);
  Await();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(server_.creations(), SizeIs(2));
}

}  // namespace
}  // namespace bridge
