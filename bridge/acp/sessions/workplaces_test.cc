#include "bridge/acp/sessions/workplaces.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/sessions/normal_path.h"
#include "bridge/acp/sessions/sessions.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

class WorkplacesTest : public ::testing::Test {
 protected:
  // The directory, or the error.
  std::string Directory(Workplaces& workplaces, const std::string& session,
                        const std::string& cwd) {
    const auto workplace = workplaces.Find(session, cwd);
    return workplace.ok() ? workplace->directory
                          : workplace.status().ToString();
  }

  PollLoop loop_;
  ServerCalls calls_{&loop_, {}};
  Deletions deletions_{&calls_};
  Sessions sessions_;
};

TEST_F(WorkplacesTest, NamesDirectoriesWithoutSymbolicLinks) {
  char name[] = "/tmp/workplaces_test.XXXXXX";
  const std::filesystem::path base = ::mkdtemp(name);
  std::filesystem::create_directories(base / "real/sub");
  std::filesystem::create_symlink("real", base / "link");
  Workplaces workplaces(&calls_, &deletions_, &sessions_, {});
  sessions_.Open("a", base / "link");
  EXPECT_EQ(Directory(workplaces, "a", ""), base / "real");
  EXPECT_EQ(Directory(workplaces, "a", base / "link/sub"), base / "real/sub");
  EXPECT_EQ(Directory(workplaces, "a", base / "link/new"), base / "real/new");
  std::filesystem::remove_all(base);
}

TEST_F(WorkplacesTest, StartsInTheSessionsDirectory) {
  Workplaces workplaces(&calls_, &deletions_, &sessions_, {});
  sessions_.Open("a", "/a/./x//y/../");
  sessions_.Open("b", "/b");
  EXPECT_EQ(Directory(workplaces, "a", ""), "/a/x");
  EXPECT_EQ(Directory(workplaces, "a", "sub/dir"), "/a/x/sub/dir");
  EXPECT_EQ(Directory(workplaces, "a", "../z"), "/a/z");
  EXPECT_EQ(Directory(workplaces, "a", "/elsewhere/"), "/elsewhere");
  EXPECT_EQ(Directory(workplaces, "b", "."), "/b");
}

TEST_F(WorkplacesTest, GivesEachSessionItsOwnSandbox) {
  Workplaces workplaces(&calls_, &deletions_, &sessions_, {});
  sessions_.Open("a", "/w");
  sessions_.Open("b", "/w");
  EXPECT_EQ(workplaces.Find("a", "")->sandbox,
            workplaces.Find("a", "x")->sandbox);
  EXPECT_NE(workplaces.Find("a", "")->sandbox,
            workplaces.Find("b", "")->sandbox);
}

TEST_F(WorkplacesTest, RefusesASessionThatIsNotOpen) {
  WorkplaceOptions with_workspace;
  with_workspace.workspace = "/w";
  for (const WorkplaceOptions& options : {WorkplaceOptions(), with_workspace}) {
    Workplaces workplaces(&calls_, &deletions_, &sessions_, options);
    for (const char* cwd : {"", "x", "/w"}) {
      EXPECT_EQ(Directory(workplaces, "u", cwd),
                "NOT_FOUND: no session \"u\" is open");
    }
  }
}

TEST_F(WorkplacesTest, RefusesASessionWithoutAnAbsoluteDirectory) {
  Workplaces workplaces(&calls_, &deletions_, &sessions_, {});
  sessions_.Open("a", "relative");
  sessions_.Open("b", "");
  for (const char* session : {"a", "b"}) {
    EXPECT_EQ(workplaces.Find(session, "/w").status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(WorkplacesTest, PrefersTheWorkspaceOfTheCommandLine) {
  WorkplaceOptions options;
  options.workspace = "/w";
  Workplaces workplaces(&calls_, &deletions_, &sessions_, options);
  sessions_.Open("in", "/w/project");
  sessions_.Open("out", "/w2");
  EXPECT_EQ(Directory(workplaces, "in", ""), "/w/project");
  EXPECT_EQ(Directory(workplaces, "in", "x"), "/w/project/x");
  EXPECT_EQ(Directory(workplaces, "out", ""), "/w");
  sessions_.Open("none", "");
  EXPECT_EQ(Directory(workplaces, "none", ""), "/w");
}

TEST_F(WorkplacesTest, NormalizesPaths) {
  EXPECT_EQ(NormalizePath("/"), "/");
  EXPECT_EQ(NormalizePath("//a"), "/a");
  EXPECT_EQ(NormalizePath("/a/../.."), "/");
  EXPECT_EQ(NormalizePath("/a/b/."), "/a/b");
}

}  // namespace
}  // namespace bridge
