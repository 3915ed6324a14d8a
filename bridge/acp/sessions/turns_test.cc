#include "bridge/acp/sessions/turns.h"

#include <string>

#include "absl/strings/str_cat.h"
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

std::string Prompt(int id, const std::string& session) {
  return absl::StrCat(R"({"id":)", id,
                      R"(,"method":"session/prompt","params":{"sessionId":")",
                      session, "\"}}");
}

TEST(TurnsTest, BeginWithAPromptOnly) {
  Turns turns;
  turns.OnClientRequest(Message::Classify(
      R"({"id":7,"method":"session/load","params":{"sessionId":"s"}})"));
  EXPECT_EQ(turns.Current(), "");
  EXPECT_THAT(turns.Open("s"), IsEmpty());
  EXPECT_EQ(turns.OnAgentResponse(Message::Classify(kAnswer)), std::nullopt);
}

TEST(TurnsTest, KnowsTheSessionInWhichTheAgentWorks) {
  Turns turns;
  EXPECT_EQ(turns.Current(), "");
  // The ids have another order.
  const std::string first = Prompt(9, "a");
  const std::string second = Prompt(7, "b");
  turns.OnClientRequest(Message::Classify(first));
  turns.OnClientRequest(Message::Classify(second));
  EXPECT_EQ(turns.Current(), "b");
  turns.OnAgentResponse(Message::Classify(kAnswer));
  EXPECT_EQ(turns.Current(), "a");
  turns.OnAgentResponse(Message::Classify(R"({"id":9,"result":{}})"));
  EXPECT_EQ(turns.Current(), "b");
}

}  // namespace
}  // namespace bridge
