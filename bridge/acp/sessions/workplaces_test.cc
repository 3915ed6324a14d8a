#include "bridge/acp/sessions/workplaces.h"

#include <string>

#include "absl/status/status.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
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
  Sessions sessions_;
};

TEST_F(WorkplacesTest, StartsInTheSessionsDirectory) {
  Workplaces workplaces(&calls_, &sessions_, {});
  sessions_.Open("a", "/a/./x//y/../");
  sessions_.Open("b", "/b");
  EXPECT_EQ(Directory(workplaces, "a", ""), "/a/x");
  EXPECT_EQ(Directory(workplaces, "a", "sub/dir"), "/a/x/sub/dir");
  EXPECT_EQ(Directory(workplaces, "a", "../z"), "/a/z");
  EXPECT_EQ(Directory(workplaces, "a", "/elsewhere/"), "/elsewhere");
  EXPECT_EQ(Directory(workplaces, "b", "."), "/b");
}

TEST_F(WorkplacesTest, GivesEachSessionItsOwnSandbox) {
  Workplaces workplaces(&calls_, &sessions_, {});
  sessions_.Open("a", "/w");
  sessions_.Open("b", "/w");
  EXPECT_EQ(workplaces.Find("a", "")->sandbox,
            workplaces.Find("a", "x")->sandbox);
  EXPECT_NE(workplaces.Find("a", "")->sandbox,
            workplaces.Find("b", "")->sandbox);
}

TEST_F(WorkplacesTest, TakesTheFirstDirectoryOfAnUnknownSession) {
  Workplaces workplaces(&calls_, &sessions_, {});
  EXPECT_EQ(Directory(workplaces, "u", ""), "NOT_FOUND: u");
  EXPECT_EQ(Directory(workplaces, "u", "x"), "NOT_FOUND: u");
  EXPECT_EQ(Directory(workplaces, "u", "/w"), "/w");
  EXPECT_EQ(Directory(workplaces, "u", ""), "/w");
  EXPECT_EQ(sessions_.Cwd("u"), "/w");
}

TEST_F(WorkplacesTest, DoesNotTrustARelativeSessionDirectory) {
  Workplaces workplaces(&calls_, &sessions_, {});
  sessions_.Open("a", "relative");
  EXPECT_EQ(Directory(workplaces, "a", ""), "NOT_FOUND: a");
}

TEST_F(WorkplacesTest, PrefersTheWorkspaceOfTheCommandLine) {
  WorkplaceOptions options;
  options.workspace = "/w";
  Workplaces workplaces(&calls_, &sessions_, options);
  sessions_.Open("in", "/w/project");
  sessions_.Open("out", "/w2");
  EXPECT_EQ(Directory(workplaces, "in", ""), "/w/project");
  EXPECT_EQ(Directory(workplaces, "in", "x"), "/w/project/x");
  EXPECT_EQ(Directory(workplaces, "out", ""), "/w");
  EXPECT_EQ(Directory(workplaces, "unknown", ""), "/w");
}

TEST_F(WorkplacesTest, NormalizesPaths) {
  EXPECT_EQ(NormalizePath("/"), "/");
  EXPECT_EQ(NormalizePath("//a"), "/a");
  EXPECT_EQ(NormalizePath("/a/../.."), "/");
  EXPECT_EQ(NormalizePath("/a/b/."), "/a/b");
}

}  // namespace
}  // namespace bridge
