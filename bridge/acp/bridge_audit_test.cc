// The bridge writes an audit log: tests against a fake server.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "bridge/acp/bridge_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class BridgeAuditTest : public BridgeTest {
 protected:
  BridgeAuditTest() { Audit({}); }

  void Audit(BridgeOptions options) {
    Finish();
    options.audit = *AuditLog::Open(path_);
    Make(std::move(options));
  }

  // The ends that were written, oldest first.
  std::vector<Json> Ends() const {
    const std::string text = tests::ReadFile(path_);
    std::vector<Json> ends;
    for (const absl::string_view line :
         absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      Json event = ParseJson(line).value_or(Json());
      if (event["event"] == "end") {
        ends.push_back(std::move(event));
      }
    }
    return ends;
  }

  const std::string path_ =
      ::testing::TempDir() + "/" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(BridgeAuditTest, RecordsHowACommandEnded) {
  Ask("wait_for_exit", Terminal("fail"));
  ASSERT_THAT(Ends(), SizeIs(1));
  EXPECT_EQ(Ends()[0]["argv"], Json{"fail"});
  EXPECT_EQ(Ends()[0]["exit"]["code"], 3);
}

TEST_F(BridgeAuditTest, RecordsOnceThatACommandWasLost) {
  Ask("wait_for_exit", Terminal("lost"));
  bridge_->RecordUnfinished();
  ASSERT_THAT(Ends(), SizeIs(1));
}

TEST_F(BridgeAuditTest, RecordsThatACommandIsGone) {
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  server_.Stop();
  server_.LoseExecution("tenants/default/sandboxes/s1/executions/t1");
  Request("8", "terminal/wait_for_exit", Reference(terminal));
  server_.Start();
  Answer();
  ASSERT_THAT(Ends(), SizeIs(1));
  EXPECT_TRUE(Ends()[0]["exit"].is_null());
}

TEST_F(BridgeAuditTest, RecordsThatAReleasedCommandIsGone) {
  const std::string terminal = Terminal("hang");
  AskUntil(terminal, "started\n");
  server_.Stop();
  server_.LoseExecution("tenants/default/sandboxes/s1/executions/t1");
  Request("8", "terminal/wait_for_exit", Reference(terminal));
  Request("9", "terminal/release", Reference(terminal));
  EXPECT_EQ(Answer()["id"], 9);
  server_.Start();
  EXPECT_EQ(Answer()["result"]["signal"], "SIGKILL");
  ASSERT_THAT(Ends(), SizeIs(1));
}

TEST_F(BridgeAuditTest, RecordsTheEndOfACommandThatDidNotStart) {
  server_.FailStarts(corral::v1::StartFailure());
  EXPECT_TRUE(Create("hello").contains("error"));
  ASSERT_THAT(Ends(), SizeIs(1));
  EXPECT_TRUE(Ends()[0]["exit"].is_null());
}

TEST_F(BridgeAuditTest, RecordsACommandWhoseCreationWasCancelled) {
  ::testing::internal::CaptureStderr();
  Request("9", "terminal/create", R"({"sessionId":"s","command":"hang"})");
  Cancel("9");
  Answer();
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              Not(HasSubstr("creations.cc")));
  ASSERT_THAT(Ends(), SizeIs(1));
  EXPECT_TRUE(Ends()[0]["exit"].is_null());
}

TEST_F(BridgeAuditTest, RecordsNoEndOfACommandThatWasRefused) {
  Audit(WithRules("otherwise: DENY"));
  Terminal("hello");
  Request("9", "terminal/create", R"({"sessionId":"none","command":"hello"})");
  Answer();
  EXPECT_THAT(Ends(), SizeIs(0));
}

TEST_F(BridgeAuditTest, RecordsUnfinishedCommandsOnRequest) {
  Ask("wait_for_exit", Terminal("hello"));
  AskUntil(Terminal("hang"), "started\n");
  bridge_->RecordUnfinished();
  ASSERT_THAT(Ends(), SizeIs(2));
  EXPECT_EQ(Ends()[1]["argv"], Json{"hang"});
  EXPECT_TRUE(Ends()[1]["exit"].is_null());
}

}  // namespace
}  // namespace bridge
