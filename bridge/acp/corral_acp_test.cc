// Tests the program corral-acp: the lines that it carries, and its exit status.

#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/corral_acp_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_server.h"
#include "tests/process.h"

namespace bridge {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CorralAcpTest, KeepsEveryByteInBothDirections) {
  CorralAcp program({"--", "cat"});
  const std::string bytes("{\"a\": 1}\r\n\n \n\xff\0x\nnot json\nlast", 29);
  program.Write(bytes);
  program.CloseInput();
  EXPECT_EQ(program.ReadOutput(), bytes);
  EXPECT_EQ(program.Wait(), 0);
}

TEST(CorralAcpTest, ReadsMessagesByteByByteAndTwoAtOnce) {
  CorralAcp program({"--", "cat"});
  for (const char byte : std::string("{\"id\":1,\"result\":0}\n")) {
    program.Write(std::string(1, byte));
  }
  EXPECT_EQ(program.ReadLine(), "{\"id\":1,\"result\":0}\n");
  program.Write("{}\n{ }\n");
  EXPECT_EQ(program.ReadLine(), "{}\n");
  EXPECT_EQ(program.ReadLine(), "{ }\n");
}

TEST(CorralAcpTest, ReadsTenMessagesInOneWrite) {
  CorralAcp program({"--", "cat"});
  std::string lines;
  for (int i = 0; i < 10; ++i) {
    absl::StrAppend(&lines, "{\"id\":", i, ",\"result\":null}\n");
  }
  program.Write(lines);
  program.CloseInput();
  EXPECT_EQ(program.ReadOutput(), lines);
}

TEST(CorralAcpTest, KeepsWhatParsersLose) {
  CorralAcp program({"--", "cat"});
  const std::string lines =
      "{\"id\":9007199254740993,\"method\":\"session/prompt\",\"params\":"
      "{\"n\":1e400,\"a\":1,\"a\":{\"b\":-0.0},\"unknown\":[1.50]}}\n"
      "{\"id\":1e400,\"result\":{\"x\":18446744073709551617}}\r\n"
      " {\"method\" : \"session/update\", \"params\" : {\"sessionId\":\"s\","
      "\"update\":{\"sessionUpdate\":\"plan\",\"n\":1E+400,\"n\":2}} }\n";
  program.Write(lines);
  program.CloseInput();
  EXPECT_EQ(program.ReadOutput(), lines);
}

TEST(CorralAcpTest, PassesAMessageOf32MiB) {
  CorralAcp program({"--", "cat"});
  std::string line = R"({"id":1,"result":")";
  line.append((32 << 20) - line.size() - 3, 'x');
  line += "\"}\n";
  std::thread writer([&] { program.Write(line); });
  EXPECT_TRUE(program.ReadLine() == line);
  writer.join();
}

TEST(CorralAcpTest, AnswersTheAgentsTerminals) {
  tests::FakeServer server(Hang);
  CorralAcp program({"--server", server.address(), "--", "cat"});
  EXPECT_EQ(CreateTerminal(program),
            "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"terminalId\":"
            "\"s1.t1\"}}\n");
  program.CloseInput();
  EXPECT_EQ(program.ReadOutput(), "");
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(server.deletions(), ElementsAre("tenants/default/sandboxes/s1"));
}

TEST(CorralAcpTest, RefusesALongLineAndGoesOn) {
  CorralAcp program({"--", "cat"});
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 40; ++i) {
    program.Write(piece);
  }
  program.Write("\nnext\n");
  EXPECT_THAT(program.ReadLine(), HasSubstr("\"code\":-32600"));
  EXPECT_EQ(program.ReadLine(), "next\n");
}

TEST(CorralAcpTest, AnswersALongLineOfTheAgent) {
  CorralAcp program({"--", "sh", "-c",
                     "head -c 40000000 /dev/zero; echo; read -r answer; "
                     "echo \"got $answer\""});
  EXPECT_THAT(program.ReadLine(), HasSubstr("got {\"jsonrpc\":\"2.0\",\"id\":"
                                            "null,\"error\":{\"code\":-32600"));
}

TEST(CorralAcpTest, CarriesALongOutputToAClientThatReadsLate) {
  CorralAcp program({"--", "sh", "-c", "seq 2000000"});
  EXPECT_EQ(program.ReadLine(), "1\n");
  EXPECT_TRUE(absl::EndsWith(program.ReadOutput(), "\n2000000\n"));
  EXPECT_EQ(program.Wait(), 0);
}

TEST(CorralAcpTest, ExitsWithTheAgentsStatus) {
  EXPECT_EQ(CorralAcp({"--", "sh", "-c", "exit 7"}).Wait(), 7);
  EXPECT_EQ(CorralAcp({"--", "sh", "-c", "kill -TERM $$"}).Wait(), 128 + 15);
  EXPECT_EQ(CorralAcp({"--", "/nonexistent/agent"}).Wait(), 127);
  EXPECT_EQ(CorralAcp({"--", "/"}).Wait(), 126);
  EXPECT_EQ(CorralAcp({"--nonsense"}).Wait(), 2);
  EXPECT_EQ(CorralAcp({"--help"}).Wait(), 0);
}

TEST(CorralAcpTest, PassesOnWhatTheAgentWroteBeforeItEnded) {
  CorralAcp program({"--", "sh", "-c", "echo one; printf two; exit 3"});
  EXPECT_EQ(program.ReadOutput(), "one\ntwo");
  EXPECT_EQ(program.Wait(), 3);
}

TEST(CorralAcpTest, PassesOnTheLastLineOfAnAgentThatHasClosedItsOutput) {
  CorralAcp program({"--", "sh", "-c",
                     "printf last; exec >&-; echo closed >&2; read -r line; "
                     "echo \"got $line\" >&2; read -r line"});
  const auto await = [&program](const char* text) {
    while (!absl::StrContains(program.ReadError(), text)) {
      std::this_thread::yield();
    }
  };
  await("closed");
  program.Write("{}\n");
  await("got {}");
  // A batch, which is answered at once.
  program.Write("[]\n");
  EXPECT_THAT(program.ReadLine(), StartsWith("last{"));
}

TEST(CorralAcpTest, DoesNotWaitForAChildThatHoldsTheAgentsOutput) {
  CorralAcp program({"--", "sh", "-c", "sleep 1000 & echo started"});
  EXPECT_EQ(program.ReadOutput(), "started\n");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(CorralAcpTest, EndsTheAgentOfAClientThatReadsNoMore) {
  tests::Process shell(
      {"sh", "-c",
       absl::StrCat("{ ", kProgram,
                    " -- sh -c 'seq 200000; cat; exit 5'; echo \"status $?\" "
                    ">&2; } | head -n 1")});
  EXPECT_EQ(shell.ReadOutput(), "1\n");
  EXPECT_EQ(shell.Wait(), 0);
  EXPECT_THAT(shell.ReadError(), HasSubstr("status 5"));
}

TEST(CorralAcpTest, GivesTheAgentDefaultSignalDispositions) {
  CorralAcp program(
      {"--", "grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"});
  EXPECT_THAT(program.ReadLine(), HasSubstr("SigBlk:\t0000000000000000"));
  // Signals above 31 are not ours.
  EXPECT_THAT(program.ReadLine(),
              ContainsRegex("SigIgn:\t........[08]0000000\n"));
}

}  // namespace
}  // namespace bridge
