#include "bridge/jsonrpc/message.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

using Kind = Message::Kind;

TEST(MessageTest, RecognizesARequest) {
  const Message message = Message::Classify(
      R"({"jsonrpc":"2.0","id":0,"method":"a/b","params":{"x": 1}})");
  EXPECT_EQ(message.kind(), Kind::kRequest);
  EXPECT_EQ(message.method(), "a/b");
  EXPECT_EQ(message.id(), "0");
  EXPECT_EQ(message.params(), "{\"x\": 1}");
}

TEST(MessageTest, ReturnsTheIdAsWritten) {
  for (const char* id :
       {"0", "\"0\"", "null", "9223372036854775807", "1.0", "-1", "\"\\u0061\"",
        "123456789012345678901234567890", "true", "[1, 2]", "{\"a\":{}}"}) {
    const std::string line =
        std::string("{\"method\":\"m\",\"id\": ") + id + " }";
    const Message message = Message::Classify(line);
    EXPECT_EQ(message.kind(), Kind::kRequest) << id;
    EXPECT_EQ(message.id(), id);
  }
}

TEST(MessageTest, RecognizesANotification) {
  const Message message = Message::Classify(R"({"method":"session/cancel"})");
  EXPECT_EQ(message.kind(), Kind::kNotification);
  EXPECT_EQ(message.params(), "");
}

TEST(MessageTest, RecognizesAResponse) {
  const Message result = Message::Classify(R"({"id":1,"result":{"a":2}})");
  EXPECT_EQ(result.kind(), Kind::kResponse);
  EXPECT_EQ(result.result(), "{\"a\":2}");
  const Message error = Message::Classify(R"({"id":null,"error":{}})");
  EXPECT_EQ(error.kind(), Kind::kResponse);
  EXPECT_EQ(error.id(), "null");
  EXPECT_EQ(error.result(), "");
}

TEST(MessageTest, RecognizesABatchEvenIfItIsBroken) {
  for (const char* line :
       {"[{\"id\":1,\"method\":\"m\"}]", " \t[]\r\n", "[", "\xEF\xBB\xBF [1"}) {
    EXPECT_EQ(Message::Classify(line).kind(), Kind::kBatch) << line;
  }
}

TEST(MessageTest, RecognizesABrokenObject) {
  for (const char* line :
       {"{\"id\":", "{\"method\":\"a\" \"id\":1}", "{\"id\":1,}", "{a:1}",
        "\xEF\xBB\xBF{", " {\"a\":1}{\"b\":2}"}) {
    EXPECT_EQ(Message::Classify(line).kind(), Kind::kBroken) << line;
  }
}

TEST(MessageTest, ClassifiesEverythingElseAsOther) {
  for (const char* line : {"", "\n", "hello", "1", "\"[\"", "{}", "{\"id\":1}",
                           "{\"method\":1,\"id\":2}"}) {
    EXPECT_EQ(Message::Classify(line).kind(), Kind::kOther) << line;
  }
}

TEST(MessageTest, KnowsWhichMethodsAnotherParserMaySee) {
  for (const char* line :
       {R"({"method":"terminal/create","method":"x","id":1})",
        R"({"method":"x","method":"terminal/create","id":1})",
        R"({"Method":"terminal/create","id":1,"result":{}})",
        R"({"method":"x","m\u0045thod":"terminal\/kill"})",
        R"({"method":1,"method":"terminal/create","id":2})"}) {
    EXPECT_TRUE(Message::Classify(line).MayMeanMethod("terminal/")) << line;
  }
  for (const char* line : {R"({"method":"terminal/create","id":1})",
                           R"({"method":"x","method":"y","id":1})",
                           R"({"params":{"method":"terminal/create"}})"}) {
    EXPECT_FALSE(Message::Classify(line).MayMeanMethod("terminal/")) << line;
  }
}

TEST(CanonicalIdTest, IsTheSameForTwoSpellingsOfAString) {
  EXPECT_EQ(CanonicalId("\"a\""), CanonicalId("\"\\u0061\""));
  EXPECT_NE(CanonicalId("1"), CanonicalId("\"1\""));
}

TEST(CanonicalIdTest, ReturnsAnyOtherIdAsWritten) {
  const std::string deep =
      std::string(1'000'000, '[') + std::string(1'000'000, ']');
  for (const std::string& id :
       {std::string("null"), std::string("9007199254740993"),
        std::string("{\"a\": 1}"), std::string("true"), deep}) {
    EXPECT_EQ(CanonicalId(id), id);
  }
}

TEST(StringMemberTest, ReturnsADecodedString) {
  EXPECT_EQ(StringMember(R"({"cwd":"/a\u0020b"})", "cwd"), "/a b");
  EXPECT_EQ(StringMember(R"({"cwd":1})", "cwd"), std::nullopt);
  EXPECT_EQ(StringMember(R"({})", "cwd"), std::nullopt);
  EXPECT_EQ(StringMember("", "cwd"), std::nullopt);
}

}  // namespace
}  // namespace bridge
