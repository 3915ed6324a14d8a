#include "server/core/execution_table.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/core/execution.h"
#include "server/core/lifetime.h"
#include "server/core/running_command.h"
#include "server/runtime/activity.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

namespace wire = ::corral::supervisor::v1;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ExecutionPtr = ExecutionTable::ExecutionPtr;
using Answers = std::vector<absl::StatusOr<ExecutionPtr>>;

constexpr uint32_t kMaxRunning = 3;

wire::RequestIdentity Request(const std::string& id,
                              const std::string& digest = "digest") {
  wire::RequestIdentity request;
  request.set_request_id(id);
  request.set_digest(digest);
  return request;
}

class ExecutionTableTest : public ::testing::Test {
 protected:
  ExecutionTableTest() {
    lifetime_->Begin(absl::InfiniteDuration(), [this] { idle_ = true; });
  }

  ExecutionTable::Entry MakeEntry(const std::string& id,
                                  const wire::RequestIdentity& request) {
    return {std::make_shared<Execution>(
                std::make_shared<const ExecutionHome>(
                    ExecutionHome{SandboxName("box"), "/nowhere"}),
                id, corral::v1::Command(), request),
            std::make_unique<RunningCommand>(&activity_, lifetime_)};
  }

  // Keeps the answer in `answers`.
  ExecutionPtr Admit(const std::string& id,
                     const wire::RequestIdentity& request, Answers* answers) {
    return table_.Admit(
        id, request, [&] { return MakeEntry(id, request); },
        [answers](absl::StatusOr<ExecutionPtr> answer) {
          answers->push_back(std::move(answer));
        });
  }

  static void SetState(const ExecutionPtr& execution,
                       wire::ExecutionRecord::State state) {
    wire::ExecutionRecord record;
    record.set_state(state);
    execution->Update(record);
  }

  static corral::v1::ErrorReason ReasonOf(const Answers& answers) {
    return answers.size() == 1 ? server::ReasonOf(answers[0].status())
                               : corral::v1::ERROR_REASON_UNSPECIFIED;
  }

  // The sandbox is idle after a minute without a running command.
  bool IdlesOut() {
    timers_.Advance(absl::Minutes(2));
    return idle_;
  }

  tests::FakeTimerQueue timers_;
  Activity activity_{&timers_, {absl::ZeroDuration(), /*max_lasting_calls=*/1}};
  bool idle_ = false;
  std::shared_ptr<Lifetime> lifetime_ =
      Lifetime::Create(&timers_, {absl::Minutes(1), {}});
  ExecutionTable table_{"tenants/default/sandboxes/box", kMaxRunning};
  Answers answers_;
};

TEST_F(ExecutionTableTest, AnswersAStartOnceWhenTheCommandRuns) {
  const ExecutionPtr execution = Admit("job", Request("r"), &answers_);
  ASSERT_NE(execution, nullptr);
  EXPECT_THAT(answers_, IsEmpty());
  table_.AnswerStart("job");
  table_.AnswerStart("job");
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(*answers_[0], execution);
}

TEST_F(ExecutionTableTest, AnswersAllCallersOfTheSameRequestTogether) {
  const ExecutionPtr execution = Admit("job", Request("r"), &answers_);
  EXPECT_EQ(Admit("made-up", Request("r"), &answers_), nullptr);
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(table_.size(), 1);
  table_.AnswerStart("job");
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_EQ(*answers_[0], execution);
  EXPECT_EQ(*answers_[1], execution);
}

TEST_F(ExecutionTableTest, AnswersARepeatedRequestAtOnceWhenTheCommandRuns) {
  const ExecutionPtr execution = Admit("job", Request("r"), &answers_);
  SetState(execution, wire::ExecutionRecord::RUNNING);
  Answers again;
  EXPECT_EQ(Admit("job", Request("r"), &again), nullptr);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(*again[0], execution);
}

TEST_F(ExecutionTableTest, RefusesADifferentRequestUnderAUsedRequestId) {
  Admit("job", Request("r"), &answers_);
  Answers other;
  EXPECT_EQ(Admit("b", Request("r", "another digest"), &other), nullptr);
  EXPECT_EQ(ReasonOf(other), corral::v1::REQUEST_MISMATCH);
}

TEST_F(ExecutionTableTest, RefusesATakenId) {
  Admit("job", Request("r"), &answers_);
  Answers other;
  EXPECT_EQ(Admit("job", Request("s", "another digest"), &other), nullptr);
  EXPECT_EQ(ReasonOf(other), corral::v1::EXECUTION_EXISTS);
}

TEST_F(ExecutionTableTest, RefusesOneMoreThanMayRunAndCountsOnlyThoseThatRun) {
  for (uint32_t i = 0; i < kMaxRunning; ++i) {
    Admit(absl::StrCat("job-", i), Request(absl::StrCat("r", i)), &answers_);
  }
  Answers refused;
  EXPECT_EQ(Admit("more", Request("more"), &refused), nullptr);
  EXPECT_EQ(ReasonOf(refused), corral::v1::TOO_MANY_EXECUTIONS);
  table_.EndRunning("job-0");
  EXPECT_EQ(table_.running(), kMaxRunning - 1);
  EXPECT_EQ(table_.size(), kMaxRunning);
  EXPECT_NE(Admit("more", Request("more"), &answers_), nullptr);
}

TEST_F(ExecutionTableTest, PassesOnWhyNothingWasMade) {
  EXPECT_EQ(table_.Admit(
                "job", Request("r"), [] { return absl::InternalError("no"); },
                [this](absl::StatusOr<ExecutionPtr> answer) {
                  answers_.push_back(std::move(answer));
                }),
            nullptr);
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].status(), absl::InternalError("no"));
  EXPECT_EQ(table_.size(), 0);
  EXPECT_EQ(table_.running(), 0);
}

TEST_F(ExecutionTableTest, AFailedStartFreesItsIdsAndFailsAllCallers) {
  const ExecutionPtr execution = Admit("job", Request("r"), &answers_);
  Admit("job", Request("r"), &answers_);
  EXPECT_EQ(table_.FailStart("job", absl::AbortedError("no")), execution);
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_EQ(answers_[0].status(), absl::AbortedError("no"));
  EXPECT_EQ(answers_[1].status(), absl::AbortedError("no"));
  EXPECT_EQ(table_.Find("job"), nullptr);
  EXPECT_EQ(table_.running(), 0);
  EXPECT_NE(Admit("job", Request("r", "another digest"), &answers_), nullptr);
}

TEST_F(ExecutionTableTest, ErasureAnswersCallersThatStillWait) {
  const ExecutionPtr execution = Admit("job", Request("r"), &answers_);
  EXPECT_EQ(table_.Erase("job"), execution);
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(*answers_[0], execution);
  EXPECT_EQ(table_.Erase("job"), nullptr);
  EXPECT_THAT(answers_, SizeIs(1));
}

TEST_F(ExecutionTableTest, ARunningCommandHoldsOffTheIdleTimeout) {
  Admit("job", Request("r"), &answers_);
  EXPECT_FALSE(IdlesOut());
  table_.EndRunning("job");
  EXPECT_TRUE(IdlesOut());
}

TEST_F(ExecutionTableTest, ErasureOfARunningCommandEndsItsHold) {
  Admit("job", Request("r"), &answers_);
  EXPECT_FALSE(IdlesOut());
  table_.Erase("job");
  EXPECT_TRUE(IdlesOut());
}

TEST_F(ExecutionTableTest, AFailedStartEndsItsHold) {
  Admit("job", Request("r"), &answers_);
  table_.FailStart("job", absl::AbortedError("no"));
  EXPECT_TRUE(IdlesOut());
}

TEST_F(ExecutionTableTest, ListsTheUnendedAmongThoseOfAnEarlierServer) {
  ExecutionTable::Entry ended = MakeEntry("ended", Request("b"));
  ended.running = nullptr;
  EXPECT_TRUE(table_.Insert(std::move(ended)));
  EXPECT_TRUE(table_.Insert(MakeEntry("running", Request("a"))));
  EXPECT_FALSE(table_.Insert(MakeEntry("running", Request("c"))));
  EXPECT_EQ(table_.Unended().size(), 1);
  EXPECT_EQ(table_.Unended().count("running"), 1);
  EXPECT_THAT(table_.List("", 5), SizeIs(2));
  EXPECT_THAT(table_.List("ended", 5), SizeIs(1));
}

}  // namespace
}  // namespace server
