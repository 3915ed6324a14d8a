#include "bridge/mcp/http/endpoint.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/gate/tool_gate.h"
#include "bridge/mcp/http/access.h"
#include "bridge/mcp/http/http_message.h"
#include "bridge/mcp/http/http_sessions.h"
#include "bridge/mcp/protocol/client_session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kMeta[] =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{}})";

// Runs without a corrald: no message here may need one.
class EndpointTest : public ::testing::Test {
 protected:
  static ClientOptions NoServer() {
    ClientOptions options;
    options.gate =
        std::make_shared<ToolGate>(GateRules(), AuditLog(), "/bin/bash");
    options.terminals.sandbox.server.server = "unix:/nonexistent/socket";
    return options;
  }

  static HttpRequest Post(const std::string& body) {
    HttpRequest request;
    request.method = "POST";
    request.path = "/mcp";
    request.fields = {{"content-type", "application/json; charset=utf-8"},
                      {"accept", "application/json, text/event-stream"}};
    request.body = body;
    return request;
  }
  static HttpRequest PostMethod(const std::string& method,
                                const std::string& params = "{}") {
    return Post(absl::StrCat(R"({"jsonrpc":"2.0","id":7,"method":")", method,
                             R"(","params":)", params, "}"));
  }
  static HttpRequest Stateless(const std::string& method,
                               const std::string& more = "") {
    HttpRequest request =
        PostMethod(method, absl::StrCat("{", kMeta, more, "}"));
    request.fields["mcp-protocol-version"] = "2026-07-28";
    request.fields["mcp-method"] = method;
    return request;
  }
  static int Code(const HttpResponse& response) {
    return ParseOrderedJson(response.body).value()["error"]["code"].get<int>();
  }
  // Begins a session and returns its id.
  std::string Begin() {
    const HttpResponse response = endpoint_.Serve(PostMethod("initialize"));
    EXPECT_EQ(response.status, 200);
    return response.fields.at("Mcp-Session-Id");
  }
  int StatusOf(HttpRequest request, const std::string& session) {
    request.fields["mcp-session-id"] = session;
    return endpoint_.Serve(request).status;
  }

  HttpSessions sessions_{NoServer()};
  Endpoint endpoint_{Access("0123456789abcdef"), &sessions_};
};

TEST_F(EndpointTest, ServesSessionsFromInitializeToDelete) {
  const std::string session = Begin();
  EXPECT_NE(session, Begin());
  EXPECT_EQ(StatusOf(PostMethod("tools/list"), session), 200);
  EXPECT_EQ(StatusOf(Post(R"({"jsonrpc":"2.0",)"
                          R"("method":"notifications/initialized"})"),
                     session),
            202);
  EXPECT_EQ(StatusOf(Post(R"({"jsonrpc":"2.0","id":1,"result":{}})"), session),
            202);
  HttpRequest end;
  end.method = "DELETE";
  EXPECT_EQ(StatusOf(end, session), 204);
  EXPECT_EQ(StatusOf(end, session), 404);
  EXPECT_EQ(StatusOf(PostMethod("tools/list"), session), 404);
  EXPECT_EQ(StatusOf(PostMethod("tools/list"), ""), 400);
}

TEST_F(EndpointTest, AnswersEachMessageOfASessionInItsTransport) {
  const std::string session = Begin();
  // A method that is not known is an error of the message alone.
  EXPECT_EQ(StatusOf(PostMethod("nope"), session), 200);
  EXPECT_EQ(StatusOf(Post(R"({"jsonrpc":"2.0","id":1,"result":{}})"), "other"),
            404);
  HttpRequest request = PostMethod("tools/list");
  request.fields["mcp-protocol-version"] = "2025-06-18";
  EXPECT_EQ(StatusOf(request, session), 200);
  request.fields["mcp-session-id"] = session;
  const HttpResponse response = endpoint_.Serve(request);
  EXPECT_EQ(response.fields.at("Content-Type"), "application/json");
  EXPECT_EQ(response.fields.at("Cache-Control"), "no-store");
}

TEST_F(EndpointTest, KnowsWhatAClientSendsAndAccepts) {
  HttpRequest request = PostMethod("initialize");
  for (const char* const accepted :
       {"", "*/*", "application/*", "Application/JSON;q=0.5, text/html"}) {
    request.fields["accept"] = accepted;
    EXPECT_EQ(endpoint_.Serve(request).status, 200) << accepted;
  }
  for (const char* const other : {"text/*", "application/xml"}) {
    request.fields["accept"] = other;
    EXPECT_EQ(endpoint_.Serve(request).status, 406) << other;
  }
  request = PostMethod("initialize");
  request.fields["content-type"] = "Application/JSON ; charset=utf-8";
  EXPECT_EQ(endpoint_.Serve(request).status, 200);
}

TEST_F(EndpointTest, SendsAQuestionAsAnEventAndTakesItsAnswer) {
  ClientOptions options = NoServer();
  options.gate = std::make_shared<ToolGate>(
      *GateRules::Parse("rules", "otherwise: ASK"), AuditLog(), "/bin/bash");
  HttpSessions sessions(options);
  Endpoint endpoint(Access("0123456789abcdef"), &sessions);
  const std::string session =
      endpoint
          .Serve(PostMethod("initialize",
                            R"({"capabilities":{"elicitation":{}}})"))
          .fields.at("Mcp-Session-Id");
  const auto serve = [&](HttpRequest request) {
    request.fields["mcp-session-id"] = session;
    return endpoint.Serve(request);
  };
  const HttpResponse response = serve(PostMethod(
      "tools/call", R"({"name":"run","arguments":{"command":"make"}})"));
  ASSERT_NE(response.next_part, nullptr);
  const auto event = [&response] {
    std::optional<std::string> part;
    do {
      part = response.next_part();
    } while (part.has_value() && absl::StartsWith(*part, ": "));
    return part.value_or("none");
  };
  EXPECT_THAT(event(), HasSubstr("elicitation/create"));
  const HttpResponse taken = serve(Post(
      R"({"jsonrpc":"2.0","id":"corral-1","result":{"action":"accept"}})"));
  EXPECT_EQ(taken.status, 202);
  EXPECT_THAT(event(), HasSubstr("Error: no server listens at"));
  EXPECT_EQ(event(), "none");
}

TEST_F(EndpointTest, EndsSessionsThatNobodyUses) {
  const std::string session = Begin();
  sessions_.EndUnused(absl::Now() - absl::Minutes(1));
  const absl::Time before = absl::Now();
  EXPECT_EQ(StatusOf(PostMethod("ping"), session), 200);
  sessions_.EndUnused(before);
  EXPECT_EQ(StatusOf(PostMethod("ping"), session), 200);
  sessions_.EndUnused(absl::Now() + absl::Minutes(1));
  EXPECT_EQ(StatusOf(PostMethod("ping"), session), 404);
}

TEST_F(EndpointTest, LimitsTheNumberOfSessions) {
  for (size_t i = 0; i < HttpSessions::kMaxSessions; ++i) {
    Begin();
  }
  EXPECT_EQ(endpoint_.Serve(PostMethod("initialize")).status, 503);
}

TEST_F(EndpointTest, BeginsNothingAfterItsEnd) {
  const std::string session = Begin();
  EXPECT_EQ(endpoint_.Serve(Stateless("tools/list")).status, 200);
  sessions_.Stop();
  EXPECT_EQ(endpoint_.Serve(PostMethod("initialize")).status, 503);
  EXPECT_EQ(endpoint_.Serve(Stateless("tools/list")).status, 503);
  EXPECT_EQ(StatusOf(PostMethod("ping"), session), 404);
}

// A session with a shell that repeats what it reads, and writes no marks: a
// command ends when there is no output for a while.
class EndpointStreamTest : public EndpointTest {
 protected:
  EndpointStreamTest() {
    ClientOptions options = NoServer();
    options.terminals.sandbox.server.server = server_.address();
    options.terminals.shell.shell = "sh";
    shells_ = std::make_unique<HttpSessions>(options);
    shells_endpoint_.emplace(Access("0123456789abcdef"), shells_.get());
  }

  HttpRequest Run(const std::string& accept) {
    const std::string session =
        shells_endpoint_->Serve(PostMethod("initialize"))
            .fields.at("Mcp-Session-Id");
    HttpRequest request = PostMethod(
        "tools/call", R"({"name":"run","arguments":{"command":"x"}})");
    request.fields["mcp-session-id"] = session;
    request.fields["accept"] = accept;
    return request;
  }

  tests::FakeServer server_{[](tests::FakeExecution& command) {
    for (std::string line; !(line = command.ReadInput(100)).empty();) {
      command.Print(line);
    }
  }};
  std::unique_ptr<HttpSessions> shells_;
  std::optional<Endpoint> shells_endpoint_;
};

TEST_F(EndpointStreamTest, SessionsShareASandboxOnlyIfItHasAName) {
  for (const char* const name : {"", "mine"}) {
    const bool shared = *name != '\0';
    const size_t made = server_.creations().size();
    const size_t deleted = server_.deletions().size();
    ClientOptions options = NoServer();
    options.terminals.sandbox.server.server = server_.address();
    options.terminals.sandbox.lasting_id = name;
    HttpSessions sessions(options);
    Endpoint endpoint(Access("0123456789abcdef"), &sessions);
    for (int i = 0; i < 2; ++i) {
      HttpRequest request = PostMethod(
          "tools/call", R"({"name":"createSession","arguments":{}})");
      request.fields["mcp-session-id"] =
          endpoint.Serve(PostMethod("initialize")).fields.at("Mcp-Session-Id");
      request.fields["accept"] = "application/json";
      EXPECT_EQ(endpoint.Serve(request).status, 200);
    }
    EXPECT_EQ(server_.creations().size() - made, shared ? 1 : 2);
    sessions.Stop();
    // The sandboxes of sessions that do not share one.
    EXPECT_EQ(server_.deletions().size() - deleted, shared ? 0 : 2);
  }
}

TEST_F(EndpointStreamTest, SendsALateAnswerAsAnEvent) {
  HttpResponse response;
  // An answer is not late for a test that sleeps at the wrong moment.
  while (response.next_part == nullptr) {
    response =
        shells_endpoint_->Serve(Run("application/json, text/event-stream"));
  }
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.fields.at("Content-Type"), "text/event-stream");
  EXPECT_EQ(response.fields.at("Cache-Control"), "no-store");
  EXPECT_EQ(response.fields.at("X-Accel-Buffering"), "no");
  EXPECT_EQ(response.next_part(), ": begun\n\n");
  std::optional<std::string> part;
  do {
    part = response.next_part();
  } while (part == ": waiting\n\n");
  ASSERT_TRUE(part.has_value());
  EXPECT_THAT(*part, StartsWith("event: message\ndata: {\"jsonrpc\""));
  EXPECT_THAT(*part, EndsWith("}\n\n"));
  EXPECT_EQ(response.next_part(), std::nullopt);
}

TEST_F(EndpointStreamTest, KeepsALateAnswerForAClientThatTakesNoEvents) {
  const HttpResponse response =
      shells_endpoint_->Serve(Run("application/json"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.fields.at("Content-Type"), "application/json");
  EXPECT_EQ(ParseOrderedJson(response.body).value()["id"], 7);
}

TEST_F(EndpointTest, ServesStatelessRequestsWithoutASession) {
  const HttpResponse listed = endpoint_.Serve(Stateless("tools/list"));
  EXPECT_EQ(listed.status, 200);
  EXPECT_EQ(ParseOrderedJson(listed.body).value()["result"]["resultType"],
            "complete");
  const HttpResponse unknown = endpoint_.Serve(Stateless("ping"));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(Code(unknown), -32601);
  // A notification needs no fields: nothing comes of it.
  EXPECT_EQ(endpoint_
                .Serve(Post(absl::StrCat(
                    R"({"jsonrpc":"2.0","method":"notifications/cancelled",)",
                    R"("params":{)", kMeta, "}}")))
                .status,
            202);
}

TEST_F(EndpointTest, RefusesStatelessRequestsWhoseHeaderDiffers) {
  const auto refused = [this](const std::string& field,
                              const std::string& value) {
    HttpRequest request = Stateless("tools/call", R"(,"name":"type")");
    request.fields["mcp-name"] = "type";
    request.fields[field] = value;
    const HttpResponse response = endpoint_.Serve(request);
    return response.status == 400 ? Code(response) : 0;
  };
  EXPECT_EQ(refused("mcp-name", "run"), -32020);
  EXPECT_EQ(refused("mcp-name", ""), -32020);
  EXPECT_EQ(refused("mcp-method", "tools/list"), -32020);
  EXPECT_EQ(refused("mcp-protocol-version", "2025-11-25"), -32020);
  EXPECT_EQ(refused("mcp-protocol-version", ""), -32020);
  // "type" in base64
  EXPECT_EQ(refused("mcp-name", "=?base64?dHlwZQ==?="), 0);
  HttpRequest prompt = Stateless("prompts/get", R"(,"name":"tool-usage")");
  const HttpResponse response = endpoint_.Serve(prompt);
  EXPECT_EQ(Code(response), -32020);
  EXPECT_EQ(ParseOrderedJson(response.body).value()["id"], 7);
  prompt.fields["mcp-name"] = "tool-usage";
  EXPECT_EQ(endpoint_.Serve(prompt).status, 200);
  // Other methods have no name that a proxy needs.
  EXPECT_EQ(endpoint_.Serve(Stateless("tools/list", R"(,"name":"x")")).status,
            200);
}

TEST_F(EndpointTest, RefusesUnknownRevisions) {
  HttpRequest request = PostMethod(
      "tools/list",
      R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}})");
  EXPECT_EQ(Code(endpoint_.Serve(request)), -32022);
  request = PostMethod("tools/list");
  request.fields["mcp-protocol-version"] = "2099-01-01";
  EXPECT_EQ(endpoint_.Serve(request).status, 400);
  request.fields["mcp-protocol-version"] = "2026-07-28";
  EXPECT_EQ(Code(endpoint_.Serve(request)), -32602);
}

TEST_F(EndpointTest, RefusesWhatIsNoMessage) {
  EXPECT_EQ(Code(endpoint_.Serve(Post("garbage"))), -32700);
  EXPECT_EQ(Code(endpoint_.Serve(Post("[]"))), -32600);
  HttpRequest request = PostMethod("initialize");
  request.fields["content-type"] = "text/plain";
  EXPECT_EQ(endpoint_.Serve(request).status, 415);
  request = PostMethod("initialize");
  request.fields["accept"] = "text/html";
  EXPECT_EQ(endpoint_.Serve(request).status, 406);
}

TEST_F(EndpointTest, RefusesBeforeTheBodyIsRead) {
  HttpRequest request = PostMethod("initialize");
  EXPECT_EQ(endpoint_.Refuse(request)->status, 401);
  EXPECT_EQ(endpoint_.Refuse(request)->fields.at("WWW-Authenticate"), "Bearer");
  request.fields["authorization"] = "Bearer 0123456789abcdef";
  EXPECT_FALSE(endpoint_.Refuse(request).has_value());
  request.method = "GET";
  EXPECT_EQ(endpoint_.Refuse(request)->status, 405);
  EXPECT_EQ(endpoint_.Refuse(request)->fields.at("Allow"), "POST, DELETE");
  request.path = "/";
  EXPECT_EQ(endpoint_.Refuse(request)->status, 404);
  request.fields["origin"] = "http://evil.example";
  EXPECT_EQ(endpoint_.Refuse(request)->status, 403);
}

}  // namespace
}  // namespace bridge
