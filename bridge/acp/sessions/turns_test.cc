#include "bridge/acp/sessions/turns.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kPrompt[] =
    R"({"id":7,"method":"session/prompt","params":{"sessionId":"s"}})";
constexpr char kAnswer[] = R"({"id":7,"result":{}})";

TEST(TurnsTest, KnowsWhichPromptsAreOpen) {
  Turns turns;
  turns.OnClientRequest(Message::Classify(kPrompt));
  EXPECT_THAT(turns.Open("s"), ElementsAre("7"));
  EXPECT_THAT(turns.Open("other"), IsEmpty());
  EXPECT_TRUE(turns.IsAnyOpen({"1", "7"}));
  EXPECT_EQ(turns.OnAgentResponse(Message::Classify(kAnswer)), "s");
  EXPECT_EQ(turns.OnAgentResponse(Message::Classify(kAnswer)), std::nullopt);
  EXPECT_THAT(turns.Open("s"), IsEmpty());
  EXPECT_FALSE(turns.IsAnyOpen({"7"}));
  EXPECT_FALSE(turns.IsAnyOpen({}));
}

}  // namespace
}  // namespace bridge
