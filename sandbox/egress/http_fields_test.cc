#include "sandbox/egress/http_fields.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace egress {
namespace {

TEST(HttpFieldsTest, ReadsAHead) {
  absl::string_view first;
  HttpFields fields;
  ASSERT_TRUE(
      ReadHttpHead("GET / HTTP/1.1\r\nA:\t b \r\na-B: c:d", &first, &fields));
  EXPECT_EQ(first, "GET / HTTP/1.1");
  EXPECT_EQ(fields, (HttpFields{{"A", "b"}, {"a-B", "c:d"}}));
}

TEST(HttpFieldsTest, RefusesWhatIsNoHead) {
  for (const std::string head :
       {"x\r\nno colon", "x\r\na b: c", "x\r\n: c", "x\r\n a: b", "x\r\na : b",
        "x\r\na: b\nc: d", "x\ny", "x\r\na: \x7f", "x\r\na: \x1f", "x\r\n"}) {
    absl::string_view first;
    HttpFields fields;
    EXPECT_FALSE(ReadHttpHead(head, &first, &fields)) << head;
  }
}

TEST(HttpFieldsTest, KnowsTokens) {
  EXPECT_TRUE(IsHttpToken("aZ09!#$%&'*+-.^_`|~"));
  for (const char* text : {"", "a b", "a:", "a/", "\xe4", "(", "a,b"}) {
    EXPECT_FALSE(IsHttpToken(text)) << text;
  }
}

TEST(HttpFieldsTest, FindsValuesAndElementsInAnyCase) {
  const HttpFields fields = {{"A", "x, Close"}, {"b", "y"}, {"a", "z"}};
  EXPECT_EQ(ValuesOf(fields, "a"),
            (std::vector<absl::string_view>{"x, Close", "z"}));
  EXPECT_TRUE(Lists(fields, "A", "close"));
  EXPECT_TRUE(Lists(fields, "A", "Z"));
  EXPECT_FALSE(Lists(fields, "A", "clos"));
  EXPECT_FALSE(Lists(fields, "B", "close"));
}

TEST(HttpFieldsTest, KnowsFieldsThatConcernTheConnection) {
  for (const char* name : {"connection", "KEEP-ALIVE", "Proxy-Connection"}) {
    EXPECT_TRUE(ConcernsConnection(name)) << name;
  }
  EXPECT_FALSE(ConcernsConnection("Upgrade"));
}

TEST(HttpFieldsTest, MakesAHead) {
  EXPECT_EQ(MakeHttpHead("X", {{"A", "b"}, {"C", ""}}),
            "X\r\nA: b\r\nC: \r\n\r\n");
}

}  // namespace
}  // namespace egress
