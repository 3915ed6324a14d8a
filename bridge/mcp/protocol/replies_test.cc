#include "bridge/mcp/protocol/replies.h"

#include <memory>
#include <string>

#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/protocol/reply_channel.h"
#include "bridge/mcp/protocol/waits.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

class LastLine : public ReplyChannel {
 public:
  void Send(const std::string& line) override { line_ = line; }
  bool IsAbandoned() override { return abandoned_; }

  std::string line_;
  bool abandoned_ = false;
};

TEST(CallbacksOf, ReportProgressToAClientThatWantsIt) {
  const auto channel = std::make_shared<LastLine>();
  CallbacksOf(channel, OrderedJson()).progress(15);
  EXPECT_EQ(channel->line_, "");
  CallbacksOf(channel, "token").progress(15);
  EXPECT_EQ(channel->line_,
            R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
            R"({"progressToken":"token","progress":15}})"
            "\n");
}

TEST(CallbacksOf, EndAWaitThatTheClientHasAbandoned) {
  const auto channel = std::make_shared<LastLine>();
  const Waits::Callbacks callbacks = CallbacksOf(channel, OrderedJson());
  EXPECT_FALSE(callbacks.is_abandoned());
  channel->abandoned_ = true;
  EXPECT_TRUE(callbacks.is_abandoned());
}

}  // namespace
}  // namespace bridge
