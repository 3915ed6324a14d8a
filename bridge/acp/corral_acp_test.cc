// The program corral-acp between a client on its pipes and an agent: with `cat`
// for an agent, what the client says comes back as if the agent had said it.

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/integration/process.h"

namespace bridge {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kProgram[] = "bridge/acp/corral_acp_under_test";

class CorralAcp : public tests::Process {
 public:
  explicit CorralAcp(std::vector<std::string> arguments)
      : Process(WithProgram(std::move(arguments))) {}

 private:
  static std::vector<std::string> WithProgram(
      std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), kProgram);
    return arguments;
  }
};

void Hang(tests::FakeExecution& command) { command.Hang(); }

std::string CreateTerminal(const char* id) {
  return absl::StrCat(
      R"({"jsonrpc":"2.0","id":)", id,
      R"(,"method":"terminal/create","params":{"sessionId":"s",)"
      R"("cwd":"/w","command":"hang"}})",
      "\n");
}

TEST(CorralAcpTest, KeepsEveryByteInBothDirections) {
  CorralAcp program({"--", "cat"});
  const std::string bytes("{\"a\": 1}\r\n\n \n\xff\0x\nnot json\nlast", 29);
  program.Write(bytes);
  program.CloseInput();
  EXPECT_EQ(program.ReadOutput(), bytes);
  EXPECT_EQ(program.Wait(), 0);
}

TEST(CorralAcpTest, TakesMessagesByteByByteAndTwoAtOnce) {
  CorralAcp program({"--", "cat"});
  for (const char byte : std::string("{\"id\":1,\"result\":0}\n")) {
    program.Write(std::string(1, byte));
  }
  EXPECT_EQ(program.ReadLine(), "{\"id\":1,\"result\":0}\n");
  program.Write("{}\n[]\n");
  EXPECT_EQ(program.ReadLine(), "{}\n");
  EXPECT_EQ(program.ReadLine(), "[]\n");
}

TEST(CorralAcpTest, AnswersTheAgentsTerminals) {
  tests::FakeServer server(Hang);
  CorralAcp program({"--server", server.address(), "--", "cat"});
  program.Write(CreateTerminal("\"x\""));
  EXPECT_EQ(program.ReadLine(),
            "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"terminalId\":"
            "\"s1.e1\"}}\n");
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

TEST(CorralAcpTest, TellsTheAgentOfItsLongLine) {
  CorralAcp program({"--", "sh", "-c",
                     "head -c 40000000 /dev/zero; echo; read -r answer; "
                     "echo \"got $answer\""});
  EXPECT_THAT(program.ReadLine(), HasSubstr("got {\"jsonrpc\":\"2.0\",\"id\":"
                                            "null,\"error\":{\"code\":-32600"));
}

TEST(CorralAcpTest, CarriesMuchToAClientThatReadsLate) {
  CorralAcp program({"--", "sh", "-c", "seq 2000000"});
  EXPECT_EQ(program.ReadLine(), "1\n");
  EXPECT_TRUE(absl::EndsWith(program.ReadOutput(), "\n2000000\n"));
  EXPECT_EQ(program.Wait(), 0);
}

TEST(CorralAcpTest, EndsWithTheAgentsStatus) {
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

TEST(CorralAcpTest, DoesNotWaitForALeftoverThatHoldsTheOutput) {
  CorralAcp program({"--", "sh", "-c", "sleep 1000 & echo started"});
  EXPECT_EQ(program.ReadOutput(), "started\n");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(CorralAcpTest, EndsAnAgentThatIgnoresTheEndOfItsInput) {
  CorralAcp program({"--", "sh", "-c", "echo up; exec sleep 1000"});
  EXPECT_EQ(program.ReadLine(), "up\n");
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 128 + SIGTERM);
}

TEST(CorralAcpTest, KillsAnAgentThatIgnoresSigterm) {
  tests::FakeServer server(Hang);
  CorralAcp program({"--server", server.address(), "--", "sh", "-c",
                     "trap '' TERM; cat; echo eof; while :; do sleep 1; done"});
  program.Write(CreateTerminal("1"));
  EXPECT_THAT(program.ReadLine(), HasSubstr("terminalId"));
  program.CloseInput();
  EXPECT_EQ(program.ReadLine(), "eof\n");
  EXPECT_EQ(program.Wait(), 128 + SIGKILL);
  EXPECT_THAT(server.deletions(), SizeIs(1));
}

class CorralAcpSignalTest : public ::testing::TestWithParam<int> {};

TEST_P(CorralAcpSignalTest, EndsInOrder) {
  tests::FakeServer server(Hang);
  CorralAcp program({"--server", server.address(), "--", "cat"});
  program.Write(CreateTerminal("1"));
  EXPECT_THAT(program.ReadLine(), HasSubstr("terminalId"));
  program.Signal(GetParam());
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(server.deletions(), SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(Termination, CorralAcpSignalTest,
                         ::testing::Values(SIGTERM, SIGINT, SIGHUP));

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
