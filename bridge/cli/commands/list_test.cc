// corral ps, prune and --json, against a fake server.

#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::FakeExecution;
using ::tests::FakeServer;

constexpr char kSandboxes[] = "tenants/default/sandboxes/";

// A server whose commands end by a signal.
class ListTest : public ::testing::Test {
 protected:
  ListTest() : server_([](FakeExecution& command) { command.Hang(); }) {}

  std::string Output(const std::vector<std::string>& arguments,
                     int expected = 0) {
    CorralProcess corral(server_.address(), arguments);
    std::string output = corral.ReadOutput();
    error_ = corral.ReadError();
    EXPECT_EQ(corral.Wait(), expected) << error_;
    return output;
  }

  // A sandbox with an ended execution, "e1", and a running one, "e2".
  void MakeSandbox(const std::string& name) {
    Output({"create", "--no-workspace", "--name", name});
    Output({"exec", "-d", name, "cmd", "a\xff\\b"});
    Output({"exec", "-d", name, "cmd"});
    Output({"kill", "-9", name + "/e1"});
    Output({"wait", name + "/e1"}, 128 + SIGKILL);
  }

  FakeServer server_;
  std::string error_;  // of the last Output()
};

TEST_F(ListTest, PsPutsEachExecutionBelowItsSandbox) {
  // The execution names sort differently: "a-b/..." before "a/...".
  MakeSandbox("a");
  MakeSandbox("a-b");
  EXPECT_EQ(Output({"ps", "-q"}), "a\na/e1\na/e2\na-b\na-b/e1\na-b/e2\n");
}

TEST_F(ListTest, PsSaysWhatEachSandboxSees) {
  Output({"create", "--no-workspace", "--name", "a"});
  Output({"create", "-w", "/tmp", "--name", "b"});
  Output({"create", "-w", "/tmp", "--read-only", "--name", "c"});
  server_.SetUnreachableSandboxes({absl::StrCat(kSandboxes, "d")});
  const std::string table = Output({"ps"});
  EXPECT_THAT(table, HasSubstr("[no workspace]\n"));
  EXPECT_THAT(table, HasSubstr("[/tmp]\n"));
  EXPECT_THAT(table, HasSubstr("[/tmp, read-only]\n"));
  EXPECT_THAT(table, HasSubstr("-    [its disk does not answer]\n"));
}

TEST_F(ListTest, PsCutsLinesAtTheEdgeOfATerminal) {
  Output({"create", "--no-workspace", "--name", "a"});
  const std::string argument(200, 'x');
  Output({"exec", "-d", "a", "cmd", argument});
  EXPECT_THAT(Output({"ps"}), HasSubstr(argument));
  CorralProcess ps(server_.address(), {"ps"}, CorralProcess::Io::kTerminal);
  ps.ReadUntil("\r\na/e1");
  const std::string rest = ps.ReadUntil("\r\n");
  EXPECT_EQ(std::string("a/e1").size() + rest.size(),
            100 + std::string("\r\n").size());
  EXPECT_EQ(ps.Wait(), 0);
}

TEST_F(ListTest, PsReadsAllPages) {
  server_.SetPageSize(1);
  MakeSandbox("a");
  MakeSandbox("b");
  EXPECT_EQ(Output({"ps", "-q"}), "a\na/e1\na/e2\nb\nb/e1\nb/e2\n");
}

TEST_F(ListTest, PsSaysForWhichSandboxesTheListIsIncomplete) {
  MakeSandbox("a");
  EXPECT_EQ(error_, "");
  server_.SetUnreachable(
      {absl::StrCat(kSandboxes, "s8"), absl::StrCat(kSandboxes, "s9")});
  EXPECT_EQ(Output({"ps", "-q"}), "a\na/e1\na/e2\n");
  EXPECT_EQ(error_,
            "corral: the list is incomplete: the server is still reading the "
            "records of s8, s9\n");
}

TEST_F(ListTest, PsShowsSandboxesWhoseDiskDoesNotAnswer) {
  server_.SetPageSize(1);
  MakeSandbox("a");
  MakeSandbox("c");
  server_.SetUnreachableSandboxes({absl::StrCat(kSandboxes, "b")});
  EXPECT_EQ(Output({"ps", "-q"}), "a\na/e1\na/e2\nb\nc\nc/e1\nc/e2\n");
  EXPECT_THAT(Output({"ps"}), HasSubstr("\nb     unreachable"));
  EXPECT_THAT(Output({"ps", "--json"}),
              HasSubstr(R"("unreachable":["tenants/default/sandboxes/b"])"));
}

TEST_F(ListTest, JsonHasPathsAndArgumentsAsText) {
  Output({"create", "-w", "/tmp", "--name", "a"});
  Output({"exec", "-d", "a", "cmd", "a\xff\\b"});
  const std::string json = Output({"ps", "--json"});
  EXPECT_THAT(json, HasSubstr(R"("workspace":{"path":"/tmp")"));
  EXPECT_THAT(json, HasSubstr(R"("argv":["cmd","a\\xff\\\\b"])"));
}

TEST_F(ListTest, PruneDeletesEndedExecutionsAndPrintsTheirNames) {
  MakeSandbox("a");
  MakeSandbox("b");
  EXPECT_EQ(Output({"prune"}), "a/e1\nb/e1\n");
  EXPECT_EQ(Output({"ps", "-q"}), "a\na/e2\nb\nb/e2\n");
  EXPECT_EQ(Output({"prune"}), "");
}

TEST_F(ListTest, PruneDeletesExecutionsWithoutATimeOfTheirEnd) {
  Output({"create", "--no-workspace", "--name", "a"});
  server_.FailStarts({});
  // A program of the user's, which keeps what failed to start.
  auto stub = corral::v1::ExecutionService::NewStub(grpc::CreateChannel(
      server_.address(), grpc::InsecureChannelCredentials()));
  corral::v1::StartExecutionRequest request;
  request.set_parent(absl::StrCat(kSandboxes, "a"));
  request.mutable_command()->add_argv("cmd");
  grpc::ClientContext context;
  corral::v1::Execution execution;
  ASSERT_TRUE(stub->StartExecution(&context, request, &execution).ok());
  EXPECT_EQ(Output({"prune", "--older-than", "1h"}), "");
  EXPECT_EQ(Output({"prune"}), "a/e1\n");
}

TEST_F(ListTest, PruneTakesOneSandbox) {
  MakeSandbox("a");
  MakeSandbox("b");
  EXPECT_EQ(Output({"prune", "b"}), "b/e1\n");
  EXPECT_THAT(server_.deletions(),
              ElementsAre(absl::StrCat(kSandboxes, "b/executions/e1")));
}

TEST_F(ListTest, PruneKeepsExecutionsThatEndedLately) {
  MakeSandbox("a");
  EXPECT_EQ(Output({"prune", "--older-than", "1h"}), "");
  EXPECT_THAT(server_.deletions(), IsEmpty());
  EXPECT_EQ(Output({"prune", "--older-than", "0s"}), "a/e1\n");
  Output({"prune", "--older-than", "soon"}, 2);
  EXPECT_THAT(error_, HasSubstr("allowed is a time"));
}

TEST_F(ListTest, PruneOnlyPrintsInADryRun) {
  MakeSandbox("a");
  EXPECT_EQ(Output({"prune", "--dry-run"}), "a/e1\n");
  EXPECT_THAT(server_.deletions(), IsEmpty());
}

TEST_F(ListTest, CreateAndRunTakeARetention) {
  Output({"create", "--no-workspace", "--keep-executions", "5", "--keep-for",
          "2h"});
  EXPECT_EQ(server_.creations().at(0).sandbox().retention().ShortDebugString(),
            "max_ended_executions: 5 max_ended_age { seconds: 7200 }");
  Output({"run", "-d", "--no-workspace", "--keep-executions", "0", "cmd"});
  EXPECT_EQ(server_.creations().at(1).sandbox().retention().ShortDebugString(),
            "max_ended_executions: 0");
  Output({"create", "--no-workspace", "--keep-for", "1m"});
  EXPECT_EQ(server_.creations().at(2).sandbox().retention().ShortDebugString(),
            "max_ended_age { seconds: 60 }");
  Output({"create", "--no-workspace"});
  EXPECT_FALSE(server_.creations().at(3).sandbox().has_retention());
  Output({"create", "--keep-executions", "100001"}, 2);
  EXPECT_THAT(error_, HasSubstr("allowed is 0 to 100000"));
}

}  // namespace
}  // namespace bridge
