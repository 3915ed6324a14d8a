#include "bridge/acp/inside/agent_sandbox.h"

#include <string>
#include <vector>

#include "bridge/acp/inside/agent_runtime.h"
#include "corral/v1/mount.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(AgentSandboxTest, KnowsWhatIsAtItsOwnPath) {
  corral::v1::Sandbox sandbox;
  sandbox.add_mounts()->set_source("/a");
  sandbox.add_mounts()->set_source("/b");
  sandbox.mutable_mounts(1)->set_target("/elsewhere");
  sandbox.add_mounts()->set_source("/c");
  sandbox.mutable_mounts(2)->set_target("/c");
  EXPECT_THAT(ShownDirectories(sandbox), ElementsAre("/a", "/c"));
  sandbox.mutable_workspace()->set_path("/w");
  EXPECT_THAT(ShownDirectories(sandbox), ElementsAre("/w", "/a", "/c"));
}

TEST(AgentSandboxTest, LendsTheRuntimeReadOnly) {
  corral::v1::Sandbox sandbox;
  AddRuntime({"/x/agent", {"/x", "/y"}, {}}, sandbox);
  ASSERT_EQ(sandbox.mounts_size(), 2);
  EXPECT_EQ(sandbox.mounts(0).source(), "/x");
  EXPECT_EQ(sandbox.mounts(1).source(), "/y");
  EXPECT_FALSE(sandbox.mounts(1).writable());
}

TEST(AgentSandboxTest, MakesTheSandboxThatIsWanted) {
  tests::FakeServer server([](tests::FakeExecution&) {});
  corral::v1::Sandbox wanted;
  wanted.add_mounts()->set_source("/x");
  for (int i = 0; i < 2; ++i) {
    const auto name = CreateAgentSandbox({server.address()}, wanted);
    ASSERT_THAT(name.status(), tests::IsOk());
    EXPECT_THAT(*name, StartsWith("tenants/default/sandboxes/"));
  }
  ASSERT_EQ(server.creations().size(), 2);
  const corral::v1::CreateSandboxRequest request = server.creations()[0];
  EXPECT_EQ(request.parent(), "tenants/default");
  EXPECT_EQ(request.sandbox().mounts(0).source(), "/x");
  // It ends when nobody renews its lease any more.
  EXPECT_TRUE(request.sandbox().lifetime().has_lease_timeout());
  EXPECT_NE(request.request_id(), "");
  EXPECT_NE(request.request_id(), server.creations()[1].request_id());
}

TEST(AgentSandboxTest, SearchesTheProgramsOfTheRuntimeFirst) {
  EXPECT_THAT(VariablesInside({"/x/bin/agent", {}, {"/x/bin"}}, {"A", "B=c"}),
              ElementsAre("PATH=/x/bin:/usr/local/sbin:/usr/local/bin:/usr/"
                          "sbin:/usr/bin:/sbin:/bin",
                          "A", "B=c"));
}

TEST(AgentSandboxTest, RunsTheAgentWithItsArgumentsAndVariables) {
  EXPECT_THAT(
      CommandInside({"/p/corral", "--server", "s"}, "box",
                    {"/x/bin/agent", {}, {"/x/bin", "/y"}},
                    {"agent", "--acp", "--"}, {{"KEY", "TERM"}, {{8080, 0}}}),
      ElementsAre("/p/corral", "--server", "s", "exec", "--no-tty", "--env",
                  "PATH=/x/bin:/y:/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                  "/usr/bin:/sbin:/bin",
                  "--env", "KEY", "--env", "TERM", "--publish", "8080:0", "box",
                  "--", "/x/bin/agent", "--acp", "--"));
}

}  // namespace
}  // namespace bridge
