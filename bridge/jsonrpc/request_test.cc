#include "bridge/jsonrpc/request.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(RequestTest, IsOneLine) {
  EXPECT_EQ(RequestLine("a\n\"", "m/n", Json{{"x", "1\n2"}}),
            R"({"jsonrpc":"2.0","id":"a\n\"","method":"m/n",)"
            R"("params":{"x":"1\n2"}})"
            "\n");
}

TEST(RequestTest, ANotificationHasNoId) {
  EXPECT_EQ(NotificationLine("m", Json::array({1})),
            R"({"jsonrpc":"2.0","method":"m","params":[1]})"
            "\n");
}

TEST(RequestTest, QuotesAText) {
  EXPECT_EQ(Quote("a\"\xff"), "\"a\\\"\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace bridge
