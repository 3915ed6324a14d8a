// Tests the program corral-acp between a client on its pipes and an agent. The
// agent `cat` repeats each line of the client as if it were its own.

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

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

// Opens session "s" and has the agent, which repeats each line, create a
// terminal in it.
void RequestTerminal(CorralAcp& program) {
  const std::string opening[] = {
      R"({"id":"open","method":"session/new","params":{"cwd":"/w"}})"
      "\n",
      R"({"id":"open","result":{"sessionId":"s"}})"
      "\n"};
  for (const std::string& line : opening) {
    program.Write(line);
    EXPECT_EQ(program.ReadLine(), line);
  }
  program.Write(
      R"({"jsonrpc":"2.0","id":"x","method":"terminal/create","params":)"
      R"({"sessionId":"s","command":"hang"}})"
      "\n");
}

// Returns the answer, which comes back as well.
std::string CreateTerminal(CorralAcp& program) {
  RequestTerminal(program);
  return program.ReadLine();
}

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

// More than the pipe to the client holds.
constexpr char kWriteMuch[] = "trap '' TERM; seq 200000; exit 3";

TEST(CorralAcpTest, DoesNotWaitForeverForAClientThatHasClosedItsSide) {
  CorralAcp closes_first({"--", "sh", "-c", absl::StrCat("cat; ", kWriteMuch)});
  closes_first.CloseInput();
  CorralAcp closes_last({"--", "sh", "-c", kWriteMuch});
  EXPECT_EQ(closes_last.ReadLine(), "1\n");
  closes_last.CloseInput();
  EXPECT_EQ(closes_first.Wait(), 3);
  EXPECT_EQ(closes_last.Wait(), 3);
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
  EXPECT_THAT(CreateTerminal(program), HasSubstr("terminalId"));
  program.CloseInput();
  EXPECT_EQ(program.ReadLine(), "eof\n");
  EXPECT_EQ(program.Wait(), 128 + SIGKILL);
  EXPECT_THAT(server.deletions(), SizeIs(1));
}

// Starts an agent with a child in its process group, one with a session of its
// own and a daemon. Each holds the agent's output open.
constexpr char kFamily[] =
    "sleep 1000 & (setsid sleep 1000 &); "
    "setsid sh -c 'echo up; sleep 1000 & sleep 1000' & "
    "trap '' TERM HUP; while :; do sleep 1000; done";

TEST(CorralAcpTest, LeavesNoProcessOfTheAgentWhenItIsKilled) {
  // The pipe ends when no process holds it any more.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const sandbox::UniqueFd reader(ends[0]);
  sandbox::UniqueFd writer(ends[1]);
  CorralAcp program({"--", "sh", "-c", kFamily});
  writer.Reset();
  EXPECT_EQ(program.ReadLine(), "up\n");
  program.Signal(SIGKILL);
  EXPECT_EQ(program.Wait(), 1000 + SIGKILL);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);
}

TEST(CorralAcpTest, LeavesNoProcessOfTheAgentWhenItEnds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const sandbox::UniqueFd reader(ends[0]);
  sandbox::UniqueFd writer(ends[1]);
  CorralAcp program({"--", "sh", "-c", kFamily});
  writer.Reset();
  EXPECT_EQ(program.ReadLine(), "up\n");
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 128 + SIGKILL);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);
}

// Ends a bridge while a server that listens does not answer.
TEST(CorralAcpTest, EndsWhileTheServerDoesNotAnswer) {
  tests::FakeServer server(Hang);
  for (const bool by_signal : {false, true}) {
    const std::string audit = absl::StrCat(
        ::testing::TempDir(), by_signal ? "/audit_signal" : "/audit_input");
    CorralAcp program(
        {"--server", server.address(), "--audit", audit, "--", "cat"});
    EXPECT_THAT(CreateTerminal(program), HasSubstr("terminalId"));
    server.StallDeletions(1);
    // Longer than the bridge may need, shorter than its calls last.
    tests::Process patience({"sleep", "12"});
    if (by_signal) {
      program.Signal(SIGTERM);
    } else {
      program.CloseInput();
    }
    EXPECT_EQ(program.Wait(), 0);
    EXPECT_TRUE(patience.IsRunning());
    EXPECT_THAT(tests::ReadFile(audit), HasSubstr("\"event\":\"end\""));
  }
}

TEST(CorralAcpTest, EndsWhileItConnectsToAServerThatDoesNotAnswer) {
  char directory[] = "/tmp/corral_acp.XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  sockaddr_un address = {AF_UNIX, ""};
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s/s", directory);
  const sandbox::UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof address),
            0);
  ASSERT_EQ(::listen(listener.get(), 10), 0);
  CorralAcp program(
      {"--server", absl::StrCat("unix:", address.sun_path), "--", "cat"});
  RequestTerminal(program);
  // The bridge connects now.
  const sandbox::UniqueFd connection(
      ::accept(listener.get(), nullptr, nullptr));
  tests::Process patience({"sleep", "10"});
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_TRUE(patience.IsRunning());
  ::unlink(address.sun_path);
  ::rmdir(directory);
}

class CorralAcpSignalTest : public ::testing::TestWithParam<int> {};

TEST_P(CorralAcpSignalTest, EndsTheAgentAndDeletesTheSandbox) {
  tests::FakeServer server(Hang);
  CorralAcp program({"--server", server.address(), "--", "cat"});
  EXPECT_THAT(CreateTerminal(program), HasSubstr("terminalId"));
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
