// Workspaces of real sandboxes, at places of which a sandbox has its own.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

// A directory of the host, removed at the end.
class HostDirectory {
 public:
  explicit HostDirectory(const std::string& parent)
      : path_(parent + "/corral-workspace-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr) << path_;
  }
  ~HostDirectory() { std::filesystem::remove_all(path_); }
  HostDirectory(const HostDirectory&) = delete;
  HostDirectory& operator=(const HostDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class WorkspaceTest : public ::testing::TestWithParam<const char*> {
 protected:
  const HostDirectory host_{GetParam()};
  TestSandbox sandbox_;
};

TEST_P(WorkspaceTest, IsAtItsOwnPath) {
  const std::string workspace = host_.path() + "/deep/er";
  std::filesystem::create_directories(workspace);
  sandbox_.spec().set_workspace(workspace);
  const auto created = sandbox_.Create();
  if (absl::StrContains(created.ToString(), "no idmapped mounts")) {
    GTEST_SKIP() << created;  // such as tmpfs before Linux 6.3
  }
  ASSERT_THAT(created, IsOk());
  const wire::ExecutionRecord end = sandbox_.Run(sandbox_.Shell(
      "e1", absl::StrCat("pwd -P; cd ", workspace,
                         " && echo text > file && ls -d ", workspace)));
  EXPECT_EQ(end.exit().wait_status(), 0);
  EXPECT_EQ(sandbox_.Output("e1", "stdout"),
            absl::StrCat(workspace, "\n", workspace, "\n"));
  EXPECT_EQ(Content(workspace + "/file"), "text\n");
}

// Other files of the parent directory on the host are not in the sandbox.
TEST_P(WorkspaceTest, ShowsNothingElseOfTheHostsDirectory) {
  const std::string workspace = host_.path() + "/work";
  std::filesystem::create_directory(workspace);
  std::ofstream(host_.path() + "/secret") << "secret";
  sandbox_.spec().set_workspace(workspace);
  const auto created = sandbox_.Create();
  if (absl::StrContains(created.ToString(), "no idmapped mounts")) {
    GTEST_SKIP() << created;  // such as tmpfs before Linux 6.3
  }
  ASSERT_THAT(created, IsOk());
  sandbox_.Run(sandbox_.Command("e1", {"/bin/ls", "-A", host_.path()}));
  EXPECT_EQ(sandbox_.Output("e1", "stdout"), "work\n");
}

INSTANTIATE_TEST_SUITE_P(Places, WorkspaceTest,
                         ::testing::Values("/tmp", "/var/tmp", "/run", "/var",
                                           "/home", "/srv"),
                         [](const auto& info) {
                           std::string name(info.param + 1);
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

class ScratchTest : public ::testing::Test {
 protected:
  TestSandbox sandbox_;
};

TEST_F(ScratchTest, IsWritableBesideAWorkspaceBelowIt) {
  const HostDirectory host("/var/tmp");
  sandbox_.spec().set_workspace(host.path());
  ASSERT_THAT(sandbox_.Create(), IsOk());
  const wire::ExecutionRecord end = sandbox_.Run(sandbox_.Shell(
      "e1", "echo a > /var/tmp/own && echo b > /tmp/own && cat /var/tmp/own"));
  EXPECT_EQ(end.exit().wait_status(), 0);
  EXPECT_EQ(sandbox_.Output("e1", "stdout"), "a\n");
  EXPECT_FALSE(std::filesystem::exists("/var/tmp/own"));
}

TEST_F(ScratchTest, MayBeTheWorkspaceItself) {
  const HostDirectory marker("/var/tmp");
  sandbox_.spec().set_workspace("/var/tmp");
  sandbox_.spec().set_workspace_read_only(true);
  ASSERT_THAT(sandbox_.Create(), IsOk());
  sandbox_.Run(sandbox_.Command("e1", {"/bin/ls", "-d", marker.path()}));
  EXPECT_EQ(sandbox_.Output("e1", "stdout"), marker.path() + "\n");
}

TEST_F(ScratchTest, ARefusedWorkspaceSaysWhy) {
  sandbox_.spec().set_workspace(sandbox_.directory() + "/absent");
  EXPECT_THAT(
      sandbox_.Create(),
      FailsWith(wire::Reply::WORKSPACE,
                absl::StrCat("workspace ", sandbox_.directory(),
                             "/absent: no such directory; create it first")));
}

TEST_F(ScratchTest, ARefusedWorkspaceMayHaveAnyBytesInItsPath) {
  sandbox_.spec().set_workspace(sandbox_.directory() + "/\xff");
  EXPECT_THAT(sandbox_.Create(),
              FailsWith(wire::Reply::WORKSPACE, HasSubstr("/\xff: no such")));
}

TEST_F(ScratchTest, AWorkspaceThatALinkLeadsToIsRefused) {
  const std::string link = sandbox_.directory() + "/link";
  std::filesystem::create_directory_symlink("/opt", link);
  sandbox_.spec().set_workspace(link);
  EXPECT_THAT(sandbox_.Create(),
              FailsWith(wire::Reply::WORKSPACE,
                        HasSubstr("/link -> /opt); name the real path")));
}

}  // namespace
}  // namespace sandbox
