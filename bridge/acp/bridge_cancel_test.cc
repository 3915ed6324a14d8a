// Tests of requests and turns that are cancelled, against a fake server.

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "bridge/acp/bridge_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kHang[] = R"({"sessionId":"s","command":"hang"})";
constexpr char kPrompt[] =
    R"({"id":7,"method":"session/prompt","params":{"sessionId":"s"}})";

class BridgeCancelTest : public BridgeTest {
 protected:
  // Makes a bridge that leaves the agent no time after a cancellation.
  void MakeHasty() {
    Finish();
    BridgeOptions options;
    options.cancel_grace = absl::ZeroDuration();
    Make(std::move(options));
  }

  void FromClient(const std::string& message) {
    bridge_->OnClientLine(message + "\n");
    agent_.pop_back();
  }

  // Runs the timers that are due, and waits for what they ask of the server.
  void RunTimers() {
    bool later = false;
    loop_.After(absl::ZeroDuration(), [&later] { later = true; });
    RunUntil([&] { return later && bridge_->idle(); });
  }
};

TEST_F(BridgeCancelTest, CancelsARequestHoweverItsIdIsWritten) {
  Request("\"a\"", "terminal/create", kHang);
  Cancel(R"("\u0061")");
  const Json answer = Answer();
  EXPECT_EQ(answer["id"], "a");
  EXPECT_EQ(answer["error"]["code"], -32800);
  EXPECT_THAT(client_, IsEmpty());
}

TEST_F(BridgeCancelTest, KeepsTheCancellationOfAKillHoweverItsIdIsWritten) {
  const std::string terminal = Terminal("hang");
  server_.Stop();
  Request("\"a\"", "terminal/kill", Reference(terminal));
  Cancel(R"("\u0061")");
  EXPECT_THAT(client_, IsEmpty());
  server_.Start();
  EXPECT_EQ(Answer()["result"], Json::object());
}

TEST_F(BridgeCancelTest, AnswersACancelledRequestOnce) {
  const std::string terminal = Terminal("hang");
  Request("8", "terminal/create", kHang);
  Request("9", "terminal/wait_for_exit", Reference(terminal));
  for (const char* id : {"8", "9"}) {
    Cancel(id);
    EXPECT_EQ(Answer()["error"]["code"], -32800);
    EXPECT_THAT(client_, IsEmpty());
    Cancel(id);
    EXPECT_THAT(client_, SizeIs(1));
    client_.clear();
  }
  EXPECT_THAT(agent_, IsEmpty());
}

TEST_F(BridgeCancelTest, PassesOnTheCancellationOfACreationThatWasAnswered) {
  EXPECT_NE(Terminal("hello"), "");
  Cancel("1");
  EXPECT_THAT(client_, SizeIs(1));
  EXPECT_THAT(agent_, IsEmpty());
}

TEST_F(BridgeCancelTest, DeletesNothingForACancelledCreationThatFails) {
  Terminal("hello");
  ::testing::internal::CaptureStderr();
  server_.FailStartedCommands(grpc::StatusCode::PERMISSION_DENIED);
  Request("9", "terminal/create", kHang);
  Cancel("9");
  Answer();
  RunUntil([this] { return bridge_->idle(); });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              Not(HasSubstr("was not deleted")));
  EXPECT_THAT(server_.deletions(), IsEmpty());
}

TEST_F(BridgeCancelTest, EndsNothingOnAnotherNotification) {
  MakeHasty();
  Terminal("hang");
  FromClient(kPrompt);
  FromClient(R"({"method":"_session/other","params":{"sessionId":"s"}})");
  RunTimers();
  EXPECT_THAT(server_.signals(), IsEmpty());
}

TEST_F(BridgeCancelTest, EndsNothingOfTheTurnThatFollows) {
  MakeHasty();
  Terminal("hang");
  FromClient(kPrompt);
  FromClient(R"({"method":"session/cancel","params":{"sessionId":"s"}})");
  bridge_->OnAgentLine("{\"id\":7,\"result\":{}}\n");
  FromClient(R"({"id":8,"method":"session/prompt","params":)"
             R"({"sessionId":"s"}})");
  RunTimers();
  EXPECT_THAT(server_.signals(), IsEmpty());
}

}  // namespace
}  // namespace bridge
