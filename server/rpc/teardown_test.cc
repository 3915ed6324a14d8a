// Many sandboxes that end at the same time, on fake supervisors.

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "server/core/sandbox.h"
#include "server/core/teardown_queue.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::tests::FakeSupervisor;

constexpr size_t kMost = TeardownQueue::kMost;
constexpr size_t kSandboxes = kMost + 4;

class TeardownTest : public ServerFixture {
 protected:
  TeardownTest() : ServerFixture(kSandboxes) {
    for (size_t i = 0; i < kSandboxes; ++i) {
      CreateSandbox(IdOf(i));
    }
    // They end when the test wants it.
    WithAll(
        [](FakeSupervisor& supervisor) { supervisor.IgnoreDeletions(true); });
  }

  static std::string IdOf(size_t i) { return absl::StrCat("box-", i); }

  void WithAll(const std::function<void(FakeSupervisor&)>& function) {
    for (size_t i = 0; i < kSandboxes; ++i) {
      factory_.With(IdOf(i), function);
    }
  }
  // How many supervisors are ending their sandboxes.
  size_t CountEnding() {
    AwaitLanes();
    size_t count = 0;
    WithAll([&](FakeSupervisor& supervisor) {
      count += supervisor.ignored_deletions();
    });
    return count;
  }
  // Ends some of those that are ending.
  void End(size_t count) {
    WithAll([&](FakeSupervisor& supervisor) {
      if (count > 0 && supervisor.ignored_deletions() > 0) {
        --count;
        supervisor.Die(wire::SandboxEnd::DELETED, "");
      }
    });
  }
  void EndAll() {
    while (CountEnding() > 0) {
      End(kSandboxes);
    }
    AwaitNoSandbox();
  }
};

TEST_F(TeardownTest, HasAFewSandboxesEndAtATimeWhenTheServerStops) {
  sandboxes_->DeleteAll(wire::ExitRecord::SERVER_SHUTDOWN);
  EXPECT_EQ(CountEnding(), kMost);
  End(3);
  EXPECT_EQ(CountEnding(), kMost);
  End(3);
  EXPECT_EQ(CountEnding(), kSandboxes - 6);
  EndAll();
}

TEST_F(TeardownTest, HasAFewSandboxesEndAtATimeWhenClientsDeleteThem) {
  for (size_t i = 0; i < kSandboxes; ++i) {
    sandboxes_->registry().Find(IdOf(i))->Delete(
        wire::ExitRecord::SANDBOX_DELETED, [](const absl::Status&) {});
  }
  EXPECT_EQ(CountEnding(), kMost);
  EndAll();
}

TEST_F(TeardownTest, HasAFewSandboxesEndAtATimeAfterTheServerWasKilled) {
  sandboxes_->DeleteAll(wire::ExitRecord::SERVER_SHUTDOWN);
  EXPECT_EQ(CountEnding(), kMost);
  Restart();
  EXPECT_EQ(CountEnding(), kMost);
  End(kMost);
  EXPECT_EQ(CountEnding(), kSandboxes - kMost);
  EndAll();
}

TEST_F(TeardownTest, EndsTheOthersThoughSomeHang) {
  sandboxes_->DeleteAll(wire::ExitRecord::SERVER_SHUTDOWN);
  EXPECT_EQ(CountEnding(), kMost);
  timers_.Advance(TeardownQueue::kPatience);
  EXPECT_EQ(CountEnding(), kSandboxes);
  EndAll();
}

}  // namespace
}  // namespace server
