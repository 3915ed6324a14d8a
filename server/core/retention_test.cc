#include "server/core/retention.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/names.h"
#include "server/core/execution.h"
#include "server/core/execution_fixture.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kMaxAge = absl::Hours(1);

class RetentionTest : public ::testing::Test {
 protected:
  std::shared_ptr<Retention> Make(size_t max_count, absl::Duration max_age) {
    Retention::Executions executions;
    executions.in_use = [this](const std::string& name) {
      return in_use_.count(IdOf(name)) != 0;
    };
    executions.remove = [this](const std::string& name, Retention::Done done) {
      const std::string id = IdOf(name);
      removals_.push_back(id);
      if (hold_) {
        held_.emplace(id, std::move(done));
        return;
      }
      if (result_.ok()) {
        ended_.erase(id);
      }
      done(result_);
    };
    return Retention::Create({max_count, max_age}, &timers_,
                             std::move(executions));
  }

  static std::string IdOf(const std::string& name) {
    return ExecutionName::Parse("name", name)->id();
  }
  // An execution that ended `age` ago, unless it has ended before.
  std::shared_ptr<Execution> Ended(const std::string& id, absl::Duration age) {
    const auto [entry, added] = ended_.try_emplace(id);
    if (added) {
      entry->second = MakeEnded(id, absl::Now() - age);
    }
    return entry->second;
  }
  // The execution ends.
  void End(const std::shared_ptr<Retention>& retention, const std::string& id,
           absl::Duration age) {
    retention->Ended(Ended(id, age));
    retention->Enforce();
  }

  // Long enough for what was in use, or could not be removed.
  void AwaitRetry() { timers_.Advance(Retention::kRetry); }

  tests::FakeTimerQueue timers_;
  std::map<std::string, std::shared_ptr<Execution>> ended_;
  std::set<std::string> in_use_;
  // In the order in which they were asked for.
  std::vector<std::string> removals_;
  absl::Status result_;
  // Removals wait here from now on.
  bool hold_ = false;
  std::map<std::string, Retention::Done> held_;
};

TEST_F(RetentionTest, KeepsAsManyAsAllowed) {
  timers_.Advance(absl::Hours(1));
  const auto retention = Make(2, absl::InfiniteDuration());
  End(retention, "a", absl::Minutes(3));
  End(retention, "b", absl::Minutes(2));
  EXPECT_THAT(removals_, IsEmpty());
  EXPECT_EQ(timers_.size(), 0);
  EXPECT_EQ(retention->size(), 2);
}

TEST_F(RetentionTest, RemovesTheOneThatEndedFirst) {
  const auto retention = Make(2, absl::InfiniteDuration());
  End(retention, "b", absl::Minutes(2));
  End(retention, "a", absl::Minutes(3));
  End(retention, "c", absl::Minutes(1));
  EXPECT_THAT(removals_, ElementsAre("a"));
  EXPECT_EQ(retention->size(), 2);
}

TEST_F(RetentionTest, KeepsNoneIfNoneMayBeKept) {
  const auto retention = Make(0, absl::InfiniteDuration());
  End(retention, "a", absl::ZeroDuration());
  EXPECT_THAT(removals_, ElementsAre("a"));
  EXPECT_EQ(retention->size(), 0);
}

TEST_F(RetentionTest, RemovesEachWhenItIsOldEnoughAndNotBefore) {
  const auto retention = Make(10, kMaxAge);
  End(retention, "a", absl::Minutes(20));
  End(retention, "b", absl::ZeroDuration());
  timers_.Advance(absl::Minutes(39));
  EXPECT_THAT(removals_, IsEmpty());
  timers_.Advance(absl::Minutes(1));
  EXPECT_THAT(removals_, ElementsAre("a"));
  timers_.Advance(absl::Minutes(20));
  EXPECT_THAT(removals_, ElementsAre("a", "b"));
}

TEST_F(RetentionTest, RemovesAtOnceAnExecutionThatIsTooOldAfterARestart) {
  const auto retention = Make(10, kMaxAge);
  End(retention, "a", 2 * kMaxAge);
  EXPECT_THAT(removals_, ElementsAre("a"));
}

TEST_F(RetentionTest,
       KeepsNothingForLongerThanAllowedThoughItsEndIsInTheFuture) {
  const auto retention = Make(10, kMaxAge);
  End(retention, "a", -kMaxAge);
  timers_.Advance(kMaxAge);
  EXPECT_THAT(removals_, ElementsAre("a"));
}

TEST_F(RetentionTest, DoesNotCountExecutionsThatOthersRemove) {
  const auto retention = Make(1, kMaxAge);
  End(retention, "a", absl::Minutes(2));
  retention->Removed(ended_.at("a"));
  End(retention, "b", absl::Minutes(1));
  timers_.Advance(absl::Minutes(58));
  EXPECT_THAT(removals_, IsEmpty());
  EXPECT_EQ(retention->size(), 1);
}

TEST_F(RetentionTest, CountsAnEndOnceThoughItIsReportedTwice) {
  const auto retention = Make(1, absl::InfiniteDuration());
  End(retention, "a", absl::Minutes(2));
  End(retention, "a", absl::Minutes(1));
  EXPECT_THAT(removals_, IsEmpty());
}

TEST_F(RetentionTest, RemovesTheNextInsteadOfOneInUse) {
  const auto retention = Make(1, absl::InfiniteDuration());
  in_use_ = {"a"};
  End(retention, "a", absl::Minutes(3));
  End(retention, "b", absl::Minutes(2));
  EXPECT_THAT(removals_, IsEmpty());
  End(retention, "c", absl::Minutes(1));
  EXPECT_THAT(removals_, ElementsAre("b"));
}

TEST_F(RetentionTest, RemovesAnExecutionWhenItsUseIsOver) {
  const auto retention = Make(1, absl::InfiniteDuration());
  in_use_ = {"a"};
  End(retention, "a", absl::Minutes(3));
  End(retention, "b", absl::Minutes(2));
  AwaitRetry();
  EXPECT_THAT(removals_, IsEmpty());
  in_use_ = {};
  AwaitRetry();
  EXPECT_THAT(removals_, ElementsAre("a"));
}

TEST_F(RetentionTest, RetriesAFailedRemoval) {
  const auto retention = Make(0, absl::InfiniteDuration());
  result_ = absl::UnavailableError("not now");
  End(retention, "a", absl::ZeroDuration());
  EXPECT_THAT(removals_, ElementsAre("a"));
  result_ = absl::OkStatus();
  AwaitRetry();
  EXPECT_THAT(removals_, ElementsAre("a", "a"));
  AwaitRetry();
  EXPECT_THAT(removals_, SizeIs(2));
}

TEST_F(RetentionTest, DoesNotRetryARemovalThatSomebodyElseHasMade) {
  const auto retention = Make(0, absl::InfiniteDuration());
  result_ = absl::UnavailableError("not now");
  End(retention, "a", absl::ZeroDuration());
  retention->Removed(ended_.at("a"));
  AwaitRetry();
  EXPECT_THAT(removals_, SizeIs(1));
}

TEST_F(RetentionTest, RemovesAFewAtATimeUntilAllAreGone) {
  const auto retention = Make(0, absl::InfiniteDuration());
  hold_ = true;
  const size_t count = 3 * Retention::kMaxRemovals;
  for (size_t i = 0; i < count; ++i) {
    retention->Ended(Ended(absl::StrCat("job-", i), absl::ZeroDuration()));
  }
  retention->Enforce();
  EXPECT_THAT(removals_, SizeIs(Retention::kMaxRemovals));
  while (!held_.empty()) {
    const auto first = held_.begin();
    Retention::Done done = std::move(first->second);
    held_.erase(first);
    done(absl::OkStatus());
    EXPECT_LE(held_.size(), Retention::kMaxRemovals);
  }
  EXPECT_THAT(removals_, SizeIs(count));
}

TEST_F(RetentionTest, RemovesNothingWhileSuspended) {
  const auto retention = Make(1, kMaxAge);
  {
    const Retention::Suspension one(retention);
    {
      const Retention::Suspension other(retention);
      // Read in any order: "a", the first to go, comes last.
      End(retention, "b", absl::Minutes(2));
      End(retention, "a", absl::Minutes(3));
    }
    timers_.Advance(kMaxAge);
    EXPECT_THAT(removals_, IsEmpty());
  }
  EXPECT_THAT(removals_, ElementsAre("a", "b"));
}

TEST_F(RetentionTest, ASuspensionEndsOnceThoughItIsMoved) {
  const auto retention = Make(0, absl::InfiniteDuration());
  const Retention::Suspension one(retention);
  {
    Retention::Suspension other(retention);
    const Retention::Suspension moved(std::move(other));
  }
  End(retention, "a", absl::ZeroDuration());
  EXPECT_THAT(removals_, IsEmpty());
}

TEST_F(RetentionTest, ARemovalMayOutliveTheRetention) {
  auto retention = Make(0, absl::InfiniteDuration());
  hold_ = true;
  End(retention, "a", absl::ZeroDuration());
  retention.reset();
  held_.at("a")(absl::OkStatus());
}

TEST_F(RetentionTest, CountsAnExecutionThatReusesTheIdOfARemovedOne) {
  const auto retention = Make(1, absl::InfiniteDuration());
  End(retention, "a", absl::Minutes(3));
  End(retention, "b", absl::Minutes(2));
  EXPECT_THAT(removals_, ElementsAre("a"));
  End(retention, "a", absl::Minutes(1));
  EXPECT_THAT(removals_, ElementsAre("a", "b"));
}

TEST_F(RetentionTest, ExecutionsInUseDelayNoRemovalOfOthers) {
  const auto retention = Make(0, absl::InfiniteDuration());
  for (size_t i = 0; i < Retention::kMaxRemovals; ++i) {
    in_use_.insert(absl::StrCat("used-", i));
    End(retention, absl::StrCat("used-", i), absl::Minutes(1));
  }
  End(retention, "a", absl::ZeroDuration());
  EXPECT_THAT(removals_, ElementsAre("a"));
}

TEST_F(RetentionTest, LeavesNoTimerBehind) {
  auto retention = Make(10, kMaxAge);
  End(retention, "a", absl::ZeroDuration());
  End(retention, "b", absl::ZeroDuration());
  EXPECT_EQ(timers_.size(), 1);
  retention.reset();
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(RetentionTest, SetsNoTimerWhileItMayNotRemoveMore) {
  const auto retention = Make(0, kMaxAge);
  hold_ = true;
  for (size_t i = 0; i <= Retention::kMaxRemovals; ++i) {
    End(retention, absl::StrCat("job-", i), absl::ZeroDuration());
  }
  EXPECT_THAT(removals_, SizeIs(Retention::kMaxRemovals));
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(RetentionTest, SetsNoTimerWhileItIsSuspended) {
  const auto retention = Make(10, kMaxAge);
  const Retention::Suspension suspension(retention);
  End(retention, "a", absl::ZeroDuration());
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(RetentionTest, BeginsNoRemovalWithinAnother) {
  int begun = 0;
  int most = 0;
  Retention::Executions executions;
  executions.in_use = [](const std::string&) { return false; };
  executions.remove = [&](const std::string&, Retention::Done done) {
    most = std::max(most, ++begun);
    done(absl::OkStatus());
    --begun;
  };
  const auto retention = Retention::Create({0, absl::InfiniteDuration()},
                                           &timers_, std::move(executions));
  for (const char* id : {"a", "b", "c"}) {
    retention->Ended(Ended(id, absl::ZeroDuration()));
  }
  retention->Enforce();
  EXPECT_EQ(retention->size(), 0);
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace server
