#include "sandbox/egress/answer_head.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/egress/http_fields.h"

namespace egress {
namespace {

using State = ByteFilter::State;

// Returns what goes on of these bytes; "..." at its end: the head is not
// complete.
std::string Filtered(absl::string_view bytes, size_t step) {
  AnswerHead head;
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    const absl::string_view part = bytes.substr(at, step);
    if (head.state() == State::kPassing) {
      absl::StrAppend(&out, part);
    } else {
      head.Filter(part, &out);
    }
  }
  return head.state() == State::kPassing ? out : absl::StrCat(out, "...");
}

std::string Filtered(absl::string_view bytes) {
  const std::string together = Filtered(bytes, bytes.size());
  EXPECT_EQ(Filtered(bytes, 1), together);
  return together;
}

TEST(AnswerHeadTest, SaysThatTheConnectionEnds) {
  EXPECT_EQ(Filtered("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\nbody\r\n\r\n");
  EXPECT_EQ(Filtered("HTTP/1.0 404\r\n\r\n"),
            "HTTP/1.0 404\r\nConnection: close\r\n\r\n");
}

TEST(AnswerHeadTest, ReplacesWhatIsSaidAboutTheConnection) {
  EXPECT_EQ(Filtered("HTTP/1.1 200 \r\nConnection: keep-alive\r\n"
                     "keep-alive: timeout=5\r\nA: b\r\n\r\n"),
            "HTTP/1.1 200 \r\nA: b\r\nConnection: close\r\n\r\n");
}

TEST(AnswerHeadTest, ChangesNoAnswerThatSaysSoItself) {
  const std::string answer =
      "HTTP/1.1 200 OK\r\nA:b\r\nconnection:  x, Close\r\n\r\nbody";
  EXPECT_EQ(Filtered(answer), answer);
}

TEST(AnswerHeadTest, PassesInterimAnswersAtOnce) {
  const std::string interim =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n";
  EXPECT_EQ(Filtered(interim), interim + "...");
  EXPECT_EQ(Filtered(interim + "HTTP/1.1 200 OK\r\n\r\nx"),
            interim + "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx");
}

TEST(AnswerHeadTest, PassesAChangeOfProtocolUnchanged) {
  const std::string upgraded =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n"
      "HTTP/1.1 200 OK\r\n\r\n";
  EXPECT_EQ(Filtered(upgraded), upgraded);
}

TEST(AnswerHeadTest, PassesWhatIsNoAnswer) {
  for (const std::string other :
       {"SSH-2.0-server\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 20\r\n\r\n",
        "HTTP/1.1 2000\r\n\r\n", "HTTP/1.1x200 OK\r\n\r\n",
        "HTTP/1.1 099 X\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno field\r\n\r\n",
        "HTTP/1.1 200 OK\nA: b\n\n\r\n\r\n"}) {
    EXPECT_EQ(Filtered(other), other);
  }
  EXPECT_EQ(Filtered("HTTP/1.1 100 X\r\n\r\n\x16\x03"),
            "HTTP/1.1 100 X\r\n\r\n\x16\x03");
}

TEST(AnswerHeadTest, HoldsBackAHeadUpToItsLargestSize) {
  const std::string line = "HTTP/1.1 200 OK\r\nA: ";
  const std::string most(kMaxHttpHead - line.size(), 'x');
  for (const size_t step : {4096, 1 << 20}) {
    EXPECT_EQ(Filtered(absl::StrCat(line, most, "xxx"), step), "...");
    EXPECT_EQ(Filtered(absl::StrCat(line, most, "\r\n\r\n"), step),
              absl::StrCat(line, most, "\r\nConnection: close\r\n\r\n"));
    for (const char* end : {"xxxx", "x\r\n\r\n"}) {
      EXPECT_EQ(Filtered(absl::StrCat(line, most, end), step),
                absl::StrCat(line, most, end));
    }
  }
}

TEST(AnswerHeadTest, PassesAnIncompleteHeadWhenTheServerHasClosed) {
  AnswerHead head;
  std::string out;
  head.Filter("HTTP/1.1 200 OK\r\n", &out);
  EXPECT_EQ(out, "");
  head.Finish(&out);
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\n");
}

TEST(AnswerHeadTest, KnowsTheStatus) {
  AnswerHead head;
  std::string out;
  EXPECT_EQ(head.status(), 0);
  head.Filter("HTTP/1.1 100 Continue\r\n\r\n", &out);
  EXPECT_EQ(head.status(), 100);
  head.Filter("HTTP/1.1 401 Unauthorized\r\n\r\n", &out);
  EXPECT_EQ(head.status(), 401);
}

}  // namespace
}  // namespace egress
