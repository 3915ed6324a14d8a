#include "bridge/acp/inside/agent_sandbox.h"

#include <string>
#include <vector>

#include "bridge/acp/inside/agent_runtime.h"
#include "corral/v1/mount.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;

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

TEST(AgentSandboxTest, RunsTheAgentWithItsArgumentsAndVariables) {
  EXPECT_THAT(
      CommandInside({"/p/corral", "--server", "s"}, "box",
                    {"/x/bin/agent", {}, {"/x/bin", "/y"}},
                    {"agent", "--acp", "--"}, {"KEY", "TERM"}),
      ElementsAre("/p/corral", "--server", "s", "exec", "--no-tty", "--env",
                  "PATH=/x/bin:/y:/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                  "/usr/bin:/sbin:/bin",
                  "--env", "KEY", "--env", "TERM", "box", "--", "/x/bin/agent",
                  "--acp", "--"));
}

}  // namespace
}  // namespace bridge
