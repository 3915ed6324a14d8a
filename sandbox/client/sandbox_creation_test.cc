#include "sandbox/client/sandbox_creation.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/client/supervisor_process.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {
namespace {

using State = SandboxCreation::State;

constexpr absl::Duration kPatience = absl::Seconds(5);

class SandboxCreationTest : public ::testing::Test {
 protected:
  static wire::ToSupervisor Request() {
    wire::ToSupervisor request;
    request.mutable_create_sandbox()->set_id("box");
    return request;
  }
  absl::StatusOr<SupervisorProcess> Replace() {
    ++replacements_;
    if (!replacement_error_.ok()) {
      return replacement_error_;
    }
    return SupervisorProcess{std::move(PacketSocket::Pair()->first), nullptr};
  }

  tests::FakeTimers timers_;
  int replacements_ = 0;
  int kills_ = 0;
  absl::Status replacement_error_;
  SandboxCreation creation_{&timers_, Request(), kPatience,
                            [this] { return Replace(); }, [this] { ++kills_; }};
};

TEST_F(SandboxCreationTest, ASupervisorThatAnswersInTimeLives) {
  EXPECT_EQ(creation_.state(), State::kAsked);
  EXPECT_EQ(creation_.request().create_sandbox().id(), "box");
  timers_.Advance(kPatience - absl::Nanoseconds(1));
  creation_.OnAnswer();
  EXPECT_EQ(creation_.state(), State::kOver);
  timers_.Advance(absl::Hours(1));
  EXPECT_EQ(kills_, 0);
}

TEST_F(SandboxCreationTest, KillsASupervisorThatDoesNotAnswerInTime) {
  timers_.Advance(kPatience - absl::Nanoseconds(1));
  EXPECT_EQ(kills_, 0);
  timers_.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(kills_, 1);
  EXPECT_EQ(creation_.state(), State::kAsked) << "until its end was seen";
}

TEST_F(SandboxCreationTest, GivesAReplacementTimeOfItsOwn) {
  timers_.Advance(kPatience / 2);
  const std::optional<SupervisorProcess> other = creation_.OnEnd();
  ASSERT_TRUE(other.has_value());
  EXPECT_TRUE(other->socket.valid());
  EXPECT_EQ(creation_.state(), State::kAskedAgain);
  timers_.Advance(SandboxCreation::kFreshPatience - absl::Nanoseconds(1));
  EXPECT_EQ(kills_, 0);
  timers_.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(kills_, 1);
}

TEST_F(SandboxCreationTest, AReplacementThatAnswersLives) {
  ASSERT_TRUE(creation_.OnEnd().has_value());
  creation_.OnAnswer();
  EXPECT_EQ(creation_.state(), State::kOver);
  timers_.Advance(absl::Hours(1));
  EXPECT_EQ(kills_, 0);
}

TEST_F(SandboxCreationTest, ReplacesASupervisorOnce) {
  ASSERT_TRUE(creation_.OnEnd().has_value());
  EXPECT_FALSE(creation_.OnEnd().has_value());
  EXPECT_EQ(creation_.state(), State::kOver);
  EXPECT_EQ(replacements_, 1);
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(SandboxCreationTest, ReplacesNoSupervisorThatHasAnswered) {
  creation_.OnAnswer();
  EXPECT_FALSE(creation_.OnEnd().has_value());
  EXPECT_EQ(replacements_, 0);
}

TEST_F(SandboxCreationTest, IsOverWhenNoOtherSupervisorCanBeStarted) {
  replacement_error_ = absl::ResourceExhaustedError("no processes");
  EXPECT_FALSE(creation_.OnEnd().has_value());
  EXPECT_EQ(creation_.state(), State::kOver);
  EXPECT_EQ(timers_.size(), 0u);
}

}  // namespace
}  // namespace sandbox
