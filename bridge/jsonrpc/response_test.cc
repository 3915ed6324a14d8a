#include "bridge/jsonrpc/response.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(ResponseTest, RepeatsTheIdAsWritten) {
  EXPECT_EQ(ResultLine("\"\\u0061\"", Json::object()),
            "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"result\":{}}\n");
}

TEST(ResponseTest, WritesOneLine) {
  EXPECT_EQ(ResultLine("0", Json{{"output", "a\nb\r"}}),
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"output\":"
            "\"a\\nb\\r\"}}\n");
}

TEST(ResponseTest, KeepsTheOrderOfMembers) {
  EXPECT_EQ(
      OrderedResultLine("\"x\"", OrderedJson{{"b", 1}, {"a", 2}}),
      "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"b\":1,\"a\":2}}\n");
}

TEST(ResponseTest, OmitsDataThatIsNull) {
  EXPECT_EQ(ErrorLine("null", {ErrorCode::kInvalidRequest, "no", nullptr}),
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
            "\"message\":\"no\"}}\n");
  EXPECT_EQ(ErrorLine("1", {ErrorCode::kResourceNotFound, "x", {{"a", 1}}}),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,"
            "\"data\":{\"a\":1},\"message\":\"x\"}}\n");
}

}  // namespace
}  // namespace bridge
