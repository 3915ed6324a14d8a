#include "bridge/mcp/protocol/era.h"

#include <optional>
#include <string>

#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/response.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

constexpr char kRevision[] = "io.modelcontextprotocol/protocolVersion";
constexpr char kCapabilities[] = "io.modelcontextprotocol/clientCapabilities";

// The code of the error of a request with this _meta; 0 without one.
int Read(const OrderedJson& value, RequestMeta* meta) {
  const std::optional<Error> error = ReadMeta({{"_meta", value}}, meta);
  return error.has_value() ? static_cast<int>(error->code) : 0;
}

TEST(EraTest, IsThatOfSessionsWithoutARevision) {
  for (const OrderedJson& params :
       {OrderedJson(), OrderedJson(5), OrderedJson::object(),
        OrderedJson({{"_meta", 5}}),
        OrderedJson({{"_meta", OrderedJson::object()}})}) {
    RequestMeta meta;
    EXPECT_FALSE(ReadMeta(params, &meta).has_value()) << params;
    EXPECT_EQ(meta.era, Era::kSession);
    EXPECT_EQ(meta.revision, "");
    EXPECT_TRUE(meta.progress_token.is_null());
  }
}

TEST(EraTest, IsThatOfTheRevisionThatARequestNames) {
  for (const char* const revision : {"2024-10-07", "2025-11-25"}) {
    RequestMeta meta;
    EXPECT_EQ(Read({{kRevision, revision}}, &meta), 0);
    EXPECT_EQ(meta.era, Era::kSession);
    EXPECT_EQ(meta.revision, revision);
  }
  RequestMeta meta;
  EXPECT_EQ(Read({{kRevision, kStatelessRevision},
                  {kCapabilities, OrderedJson::object()}},
                 &meta),
            0);
  EXPECT_EQ(meta.era, Era::kStateless);
  EXPECT_EQ(meta.revision, kStatelessRevision);
  EXPECT_FALSE(meta.can_ask);
}

TEST(EraTest, RefusesARevisionThatItDoesNotKnow) {
  RequestMeta meta;
  EXPECT_EQ(Read({{kRevision, "2099-01-01"}}, &meta), kUnsupportedRevision);
  EXPECT_EQ(meta.revision, "2099-01-01");
  EXPECT_EQ(Read({{kRevision, 5}}, &meta),
            static_cast<int>(ErrorCode::kInvalidParams));
}

TEST(EraTest, DemandsCapabilitiesOfAStatelessRequest) {
  for (const OrderedJson& value :
       {OrderedJson({{kRevision, kStatelessRevision}}),
        OrderedJson({{kRevision, kStatelessRevision}, {kCapabilities, 5}})}) {
    RequestMeta meta;
    EXPECT_EQ(Read(value, &meta), static_cast<int>(ErrorCode::kInvalidParams));
  }
}

TEST(EraTest, KnowsWhetherTheClientWantsProgressAndCanAsk) {
  RequestMeta meta;
  EXPECT_EQ(Read({{"progressToken", 7},
                  {kRevision, kStatelessRevision},
                  {kCapabilities, {{"elicitation", OrderedJson::object()}}}},
                 &meta),
            0);
  EXPECT_EQ(meta.progress_token, 7);
  EXPECT_TRUE(meta.can_ask);
}

TEST(CanAskTest, NeedsFormsUnlessNothingElseIsNamed) {
  const struct {
    const char* capabilities;
    bool can_ask;
  } cases[] = {{R"({"elicitation":{}})", true},
               {R"({"elicitation":{"form":{}}})", true},
               {R"({"elicitation":{"form":{},"url":{}}})", true},
               {R"({"elicitation":{"url":{}}})", false},
               {R"({"elicitation":5})", false},
               {"{}", false},
               {"5", false}};
  for (const auto& example : cases) {
    EXPECT_EQ(CanAsk(ParseOrderedJson(example.capabilities).value()),
              example.can_ask)
        << example.capabilities;
  }
}

TEST(NegotiateRevisionTest, TakesTheNewestUnlessItKnowsTheClients) {
  EXPECT_EQ(NegotiateRevision({{"protocolVersion", "2024-11-05"}}),
            "2024-11-05");
  for (const OrderedJson& params :
       {OrderedJson(), OrderedJson::object(),
        OrderedJson({{"protocolVersion", 5}}),
        OrderedJson({{"protocolVersion", kStatelessRevision}})}) {
    EXPECT_EQ(NegotiateRevision(params), "2025-11-25") << params;
  }
}

}  // namespace
}  // namespace bridge
