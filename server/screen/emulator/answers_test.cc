#include "server/screen/emulator/answers.h"

#include <string>

#include "gtest/gtest.h"

namespace screen {
namespace {

TEST(AnswersTest, ForgetsOldAnswers) {
  Answers answers;
  const std::string half(Answers::kMaxBytes / 2, 'x');
  answers.Add(1, "a");
  answers.Add(2, half);
  EXPECT_EQ(answers.From(1), "a" + half);
  answers.Add(3, half);
  EXPECT_EQ(answers.From(0), half + half);
  EXPECT_EQ(answers.From(3), half);
  EXPECT_EQ(answers.From(4), "");
}

}  // namespace
}  // namespace screen
