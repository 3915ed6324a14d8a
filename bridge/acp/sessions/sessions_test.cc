#include "bridge/acp/sessions/sessions.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::optional<std::string> Request(Sessions& sessions, absl::string_view line) {
  return sessions.OnRequest(Message::Classify(line));
}

std::optional<std::string> Response(Sessions& sessions,
                                    absl::string_view line) {
  return sessions.OnResponse(Message::Classify(line));
}

std::optional<std::string> Cwd(const Sessions& sessions,
                               const std::string& session_id) {
  const Sessions::Session* const session = sessions.Find(session_id);
  return session == nullptr ? std::nullopt : std::optional(session->cwd);
}

TEST(SessionsTest, KnowsTheAdditionalDirectories) {
  Sessions sessions;
  Request(sessions,
          R"({"id":1,"method":"session/load","params":{"sessionId":"s",)"
          R"("cwd":"/w","additionalDirectories":["/a",7,"/\u0062"]}})");
  EXPECT_THAT(sessions.Find("s")->additional_directories,
              ElementsAre("/a", "/b"));
}

TEST(SessionsTest, ClosesASessionThatIsLoadedWithOtherAdditionalDirectories) {
  Sessions sessions;
  const char* const with =
      R"({"id":1,"method":"session/load","params":{"sessionId":"s",)"
      R"("cwd":"/w","additionalDirectories":["/a"]}})";
  EXPECT_EQ(Request(sessions, with), std::nullopt);
  EXPECT_EQ(Request(sessions, with), std::nullopt);
  EXPECT_EQ(Request(sessions, R"({"id":2,"method":"session/load","params":)"
                              R"({"sessionId":"s","cwd":"/w"}})"),
            "s");
}

TEST(SessionsTest, KeepsTheSandboxIdOfASessionThatIsLoadedAgain) {
  int count = 0;
  Sessions sessions([&count] { return std::to_string(++count); });
  const Message load = Message::Classify(
      R"({"id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/w"}})");
  const Message other = Message::Classify(
      R"({"id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/x"}})");
  const Message fork = Message::Classify(
      R"({"id":2,"method":"session/fork","params":{"sessionId":"s","cwd":"/w"}})");
  sessions.OnRequest(load);
  EXPECT_EQ(sessions.SandboxIdFor(load), "1");
  sessions.OnRequest(load);
  EXPECT_EQ(sessions.SandboxIdFor(load), "1");
  sessions.OnRequest(fork);
  EXPECT_EQ(sessions.SandboxIdFor(fork), "2");
  sessions.OnRequest(other);
  EXPECT_EQ(sessions.SandboxIdFor(other), "3");
  EXPECT_EQ(sessions.Find("s")->sandbox_id, "3");
}

TEST(SessionsTest, OpensASessionWhenTheAgentResponds) {
  for (const char* method : {"session/new", "session/fork"}) {
    Sessions sessions;
    Request(sessions, std::string(R"({"id":"x","method":")") + method +
                          R"(","params":{"cwd":"/w","sessionId":"old"}})");
    EXPECT_EQ(Cwd(sessions, "s"), std::nullopt);
    EXPECT_EQ(Response(sessions, R"({"id":"x","result":{"sessionId":"s"}})"),
              std::nullopt);
    EXPECT_EQ(Cwd(sessions, "s"), "/w");
    EXPECT_EQ(Cwd(sessions, "old"), std::nullopt);
  }
}

TEST(SessionsTest, MatchesResponsesInAnyOrderToTheirRequests) {
  Sessions sessions;
  Request(sessions, R"({"id":0,"method":"session/new","params":{"cwd":"/a"}})");
  Request(sessions,
          R"({"id":"0","method":"session/new","params":{"cwd":"/b"}})");
  Response(sessions, R"({"id":"0","result":{"sessionId":"b"}})");
  Response(sessions, R"({"id":0,"result":{"sessionId":"a"}})");
  EXPECT_EQ(Cwd(sessions, "a"), "/a");
  EXPECT_EQ(Cwd(sessions, "b"), "/b");
}

TEST(SessionsTest, OpensNoSessionWhenTheAgentRefuses) {
  Sessions sessions;
  Request(sessions, R"({"id":0,"method":"session/new","params":{"cwd":"/a"}})");
  Response(sessions, R"({"id":0,"error":{"code":-32000,"message":""}})");
  Response(sessions, R"({"id":0,"result":{"sessionId":"a"}})");
  EXPECT_EQ(Cwd(sessions, "a"), std::nullopt);
}

TEST(SessionsTest, OpensALoadedSessionBeforeTheAgentResponds) {
  for (const char* method : {"session/load", "session/resume"}) {
    Sessions sessions;
    const auto load = [&](const char* cwd) {
      return Request(sessions, std::string(R"({"id":1,"method":")") + method +
                                   R"(","params":{"sessionId":"s","cwd":")" +
                                   cwd + R"("}})");
    };
    EXPECT_EQ(load("/a"), std::nullopt);
    EXPECT_EQ(Cwd(sessions, "s"), "/a");
    EXPECT_EQ(load("/a"), std::nullopt);
    EXPECT_EQ(load("/b"), "s");
    EXPECT_EQ(Cwd(sessions, "s"), "/b");
  }
}

TEST(SessionsTest, EndsASessionThatCouldNotBeLoaded) {
  Sessions sessions;
  const std::string load =
      R"({"id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/a"}})";
  const std::string failure = R"({"id":1,"error":{"code":-32603}})";
  Request(sessions, load);
  EXPECT_EQ(Response(sessions, failure), "s");
  EXPECT_EQ(Cwd(sessions, "s"), std::nullopt);
  // It stays if it existed before.
  sessions.Open("s", {"/a"});
  Request(sessions, load);
  EXPECT_EQ(Response(sessions, failure), std::nullopt);
  EXPECT_EQ(Cwd(sessions, "s"), "/a");
}

TEST(SessionsTest, KeepsTheDirectoryOfASessionThatIsLoadedWithoutOne) {
  Sessions sessions;
  sessions.Open("s", {"/a"});
  EXPECT_EQ(
      Request(sessions,
              R"({"id":1,"method":"session/load","params":{"sessionId":"s"}})"),
      std::nullopt);
  EXPECT_EQ(Cwd(sessions, "s"), "/a");
}

TEST(SessionsTest, KeepsALoadedSession) {
  Sessions sessions;
  Request(
      sessions,
      R"({"id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/a"}})");
  EXPECT_EQ(Response(sessions, R"({"id":1,"result":null})"), std::nullopt);
  EXPECT_EQ(Cwd(sessions, "s"), "/a");
}

TEST(SessionsTest, ClosesASessionWhenTheAgentAgrees) {
  for (const char* method : {"session/close", "session/delete"}) {
    Sessions sessions;
    sessions.Open("s", {"/a"});
    const std::string close = std::string(R"({"id":1,"method":")") + method +
                              R"(","params":{"sessionId":"s"}})";
    Request(sessions, close);
    EXPECT_EQ(Response(sessions, R"({"id":1,"error":{"code":-32601}})"),
              std::nullopt);
    EXPECT_EQ(Cwd(sessions, "s"), "/a");
    Request(sessions, close);
    EXPECT_EQ(Response(sessions, R"({"id":1,"result":null})"), "s");
    EXPECT_EQ(Cwd(sessions, "s"), std::nullopt);
  }
}

TEST(SessionsTest, OpensASessionWithoutAWorkingDirectory) {
  Sessions sessions;
  Request(sessions, R"({"id":0,"method":"session/new"})");
  Response(sessions, R"({"id":0,"result":{"sessionId":"s"}})");
  EXPECT_EQ(Cwd(sessions, "s"), "");
}

TEST(SessionsTest, AcceptsARequestIdOfAnyType) {
  Sessions sessions;
  Request(sessions,
          R"({"id":{"a":1},"method":"session/new","params":{"cwd":"/a"}})");
  Response(sessions, R"({"id":{"a":1},"result":{"sessionId":"s"}})");
  EXPECT_EQ(Cwd(sessions, "s"), "/a");
}

TEST(SessionsTest, IgnoresResponsesToOtherRequests) {
  Sessions sessions;
  Request(sessions, R"({"id":0,"method":"authenticate","params":{}})");
  Request(sessions, R"({"id":1,"method":"session/load","params":{"cwd":1}})");
  for (const char* id : {"0", "1", "2"}) {
    EXPECT_EQ(Response(sessions, std::string(R"({"id":)") + id +
                                     R"(,"result":{"sessionId":"s"}})"),
              std::nullopt);
  }
  EXPECT_EQ(Cwd(sessions, "s"), std::nullopt);
  EXPECT_EQ(Cwd(sessions, ""), std::nullopt);
  EXPECT_THAT(sessions.TakeOpened(), IsEmpty());
}

TEST(SessionsTest, ReportsEachOpenedSessionOnce) {
  Sessions sessions;
  Request(sessions, R"({"id":0,"method":"session/new","params":{"cwd":"/a"}})");
  Request(sessions, R"({"id":1,"method":"session/load","params":)"
                    R"({"sessionId":"b","cwd":"/b"}})");
  EXPECT_THAT(sessions.TakeOpened(), IsEmpty());
  Response(sessions, R"({"id":0,"result":{"sessionId":"a"}})");
  Response(sessions, R"({"id":1,"result":{}})");
  EXPECT_THAT(sessions.TakeOpened(), ElementsAre("a", "b"));
  EXPECT_THAT(sessions.TakeOpened(), IsEmpty());
}

TEST(SessionsTest, OpensNoSessionWithoutAnId) {
  Sessions sessions;
  Request(sessions, R"({"id":0,"method":"session/new","params":{"cwd":"/a"}})");
  Response(sessions, R"({"id":0,"result":{"sessionId":7}})");
  EXPECT_EQ(Cwd(sessions, ""), std::nullopt);
  EXPECT_THAT(sessions.TakeOpened(), IsEmpty());
}

}  // namespace
}  // namespace bridge
