// The ends of corral-acp and of its agent.

#include <signal.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/corral_acp_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

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

TEST(CorralAcpTest, RecordsHowTheCommandsEndThatEndWithIt) {
  tests::FakeServer server([](tests::FakeExecution& command) {
    command.Print("up");
    command.Hang();
  });
  const std::string audit = ::testing::TempDir() + "/audit_end";
  CorralAcp program(
      {"--server", server.address(), "--audit", audit, "--", "cat"});
  EXPECT_THAT(CreateTerminal(program), HasSubstr("s1.t1"));
  std::string answer;
  do {
    program.Write(R"({"id":"o","method":"terminal/output","params":)"
                  R"({"sessionId":"s","terminalId":"s1.t1"}})"
                  "\n");
    answer = program.ReadLine();
  } while (absl::StrContains(answer, R"("output":"")"));
  EXPECT_THAT(answer, HasSubstr(R"("output":"up")"));
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(tests::ReadFile(audit), HasSubstr("SANDBOX_DELETED"));
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

}  // namespace
}  // namespace bridge
