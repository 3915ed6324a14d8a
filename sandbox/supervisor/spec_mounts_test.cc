#include "sandbox/supervisor/spec_mounts.h"

#include <fcntl.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/project_quota.h"
#include "sandbox/kernel/workspace.h"
#include "tests/failure_matchers.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::tests::FailsWith;

wire::SandboxSpec Spec() {
  wire::SandboxSpec spec;
  spec.set_workspace("/w");
  spec.add_read_only_paths(".git/hooks");
  spec.add_read_only_paths("ci");
  wire::SandboxSpec::FurtherWorkspace* const further =
      spec.add_further_workspaces();
  further->set_path("/further");
  further->set_read_only(true);
  further->add_read_only_paths("x");
  wire::SandboxSpec::Mount* const mount = spec.add_mounts();
  mount->set_source("/opt/tool");
  mount->set_target("/tool");
  return spec;
}

TEST(SpecMountsTest, AreAllDirectoriesWithTheirRights) {
  const std::vector<WorkspaceMount> mounts = WorkspacesOf(Spec(), 65536);
  ASSERT_EQ(mounts.size(), 3);
  EXPECT_EQ(mounts[0].path, "/w");
  EXPECT_FALSE(mounts[0].read_only);
  EXPECT_EQ(mounts[0].first_id, 65536u);
  EXPECT_EQ(mounts[0].target, "");
  EXPECT_THAT(mounts[0].read_only_paths, ElementsAre(".git/hooks", "ci"));
  EXPECT_EQ(mounts[1].path, "/further");
  EXPECT_TRUE(mounts[1].read_only);
  EXPECT_THAT(mounts[1].read_only_paths, ElementsAre("x"));
  EXPECT_EQ(mounts[2].path, "/opt/tool");
  EXPECT_EQ(mounts[2].target, "/tool");
  EXPECT_TRUE(mounts[2].read_only);
  EXPECT_THAT(mounts[2].read_only_paths, IsEmpty());
  EXPECT_THAT(DirectoriesOf(Spec()),
              ElementsAre("/w", "/further", "/opt/tool"));
  EXPECT_THAT(WorkspacesOf(wire::SandboxSpec(), 0), IsEmpty());
}

TEST(SpecMountsTest, NeedNoPathsWhereNothingCanBeWritten) {
  const auto count = [](const wire::SandboxSpec& spec) {
    const std::vector<WorkspaceMount> workspaces = WorkspacesOf(spec, 0);
    std::vector<UniqueFd> mounts;
    for (size_t i = 0; i < workspaces.size(); ++i) {
      mounts.emplace_back(::open("/", O_PATH | O_CLOEXEC));
    }
    return PathsOf(workspaces, std::move(mounts), 1000).size();
  };
  wire::SandboxSpec spec = Spec();
  EXPECT_EQ(count(spec), 1);
  spec.mutable_further_workspaces(0)->set_read_only(false);
  EXPECT_EQ(count(spec), 2);
  spec.set_workspace_read_only(true);
  spec.mutable_further_workspaces(0)->clear_read_only_paths();
  EXPECT_EQ(count(spec), 0);
}

TEST(SpecMountsTest, AreLimitedWhereCommandsCanWrite) {
  // Nothing limits the space of /proc.
  const auto limit = [](const wire::SandboxSpec& spec,
                        const SpaceLimits& limits) {
    const std::vector<WorkspaceMount> workspaces = WorkspacesOf(spec, 0);
    std::vector<UniqueFd> mounts;
    for (size_t i = 0; i < workspaces.size(); ++i) {
      mounts.emplace_back(::open("/proc", O_PATH | O_CLOEXEC));
    }
    return LimitSpace(workspaces, mounts, limits).status();
  };
  wire::SandboxSpec spec = Spec();
  EXPECT_TRUE(limit(spec, {}).ok());
  EXPECT_THAT(limit(spec, {1 << 20, 0}),
              FailsWith(wire::Reply::ISOLATION, StartsWith("workspace /w: ")));
  spec.set_workspace_read_only(true);
  EXPECT_TRUE(limit(spec, {1 << 20, 0}).ok());
  spec.mutable_mounts(0)->set_writable(true);
  EXPECT_THAT(
      limit(spec, {0, 100}),
      FailsWith(wire::Reply::ISOLATION, StartsWith("mount /opt/tool: ")));
}

}  // namespace
}  // namespace sandbox
