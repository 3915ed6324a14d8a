#include "bridge/cli/attach/question_filter.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

std::string Filtered(const std::string& output) {
  return QuestionFilter().Filter(absl::StrCat("a", output, "b"));
}

TEST(QuestionFilter, RemovesEveryQuestion) {
  for (const char* const question : {"\x1b[c",
                                     "\x1b[0c",
                                     "\x1b[>c",
                                     "\x1b[>0c",
                                     "\x1b[=c",
                                     "\x1b[5n",
                                     "\x1b[6n",
                                     "\x1b[?6n",
                                     "\x1b[?2026$p",
                                     "\x1b[4$p",
                                     "\x1b[>q",
                                     "\x1b[>0q",
                                     "\x1b[11t",
                                     "\x1b[13t",
                                     "\x1b[14;2t",
                                     "\x1b[15t",
                                     "\x1b[16t",
                                     "\x1b[18t",
                                     "\x1b[19t",
                                     "\x1b[20t",
                                     "\x1b[21t",
                                     "\x1b[?u",
                                     "\x1b[?4m",
                                     "\x1b[x",
                                     "\x1b[1;1;1;1;1;1*y",
                                     "\x1b[1$w",
                                     "\x1b[1&w",
                                     "\x1b[?1;1;0S",
                                     "\x1bZ",
                                     "\x1b]11;?\x07",
                                     "\x1b]10;?;?\x1b\\",
                                     "\x1b]4;1;?\x07",
                                     "\x1b]52;c;?\x07",
                                     "\x1bP$qm\x1b\\",
                                     "\x1bP+q544e\x1b\\",
                                     "\x05"}) {
    EXPECT_EQ(Filtered(question), "ab") << question + 1;
  }
}

TEST(QuestionFilter, PassesOnEverythingElse) {
  for (const char* const output : {"text \xc3\xa9\r\n",
                                   "\x1b[31m",
                                   "\x1b[?25h",
                                   "\x1b[2 q",
                                   "\x1b[!p",
                                   "\x1b[8;24;80t",
                                   "\x1b[u",
                                   "\x1b[s",
                                   "\x1b[>4;1m",
                                   "\x1b[>1u",
                                   "\x1b]0;what? ;?\x07",
                                   "\x1b]2;?\x07",
                                   "\x1b]8;;http://x/?\x07",
                                   "\x1b]11;#000000\x07",
                                   "\0337",
                                   "\x1b(0",
                                   "\x1bPq#0~\x1b\\",
                                   "\x1b[3\x18",
                                   "\x1b[\x18",
                                   "\x1b[6\x7fn",
                                   "\x1b[2@c",
                                   "\x1b[3~n",
                                   "\x1b[?17;0;64c",
                                   "\x1b[>1n",
                                   "\x1b[1w",
                                   "\x1b[1;2y",
                                   "\x1b]1;?\x07",
                                   "\x1b]?\x07",
                                   "\x1b]11;\x18;?\x07",
                                   "\x1b]11;\x1a;?\x07",
                                   "\x1b[2S",
                                   "\x1b]133;A\x07",
                                   "\x1b]\x07",
                                   "\x1b]\x18",
                                   "\x1bP\x1b\\"}) {
    EXPECT_EQ(Filtered(output), absl::StrCat("a", output, "b")) << output + 1;
  }
}

TEST(QuestionFilter, FindsQuestionsThatArriveInPieces) {
  QuestionFilter filter;
  std::string passed;
  for (const char c : std::string("a\x1b[6nb\x1b]11;?\x1b\\c\x1b[1md")) {
    passed += filter.Filter(std::string(1, c));
  }
  EXPECT_EQ(passed, "abc\x1b[1md");
}

TEST(QuestionFilter, HoldsNothingBackForLong) {
  QuestionFilter filter;
  const std::string endless =
      absl::StrCat("\x1b]0;", std::string(QuestionFilter::kMaxSequence, 'x'));
  EXPECT_EQ(filter.Filter(endless), endless);
  EXPECT_EQ(filter.Filter("y"), "y");
}

TEST(QuestionFilter, HoldsBackWhatIsAsLongAsASequenceMayBe) {
  QuestionFilter filter;
  std::string longest = "\x1b]0;";
  longest.resize(QuestionFilter::kMaxSequence, 'x');
  EXPECT_EQ(filter.Filter(longest), "");
  EXPECT_EQ(filter.Filter("y"), longest + "y");
}

}  // namespace
}  // namespace bridge
