#include "bridge/acp/sessions/workplaces.h"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/sessions/normal_path.h"
#include "bridge/acp/sessions/sessions.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;

class WorkplacesTest : public ::testing::Test {
 protected:
  // The directory, or the error.
  std::string Directory(Workplaces& workplaces, const std::string& session,
                        const std::string& cwd) {
    const auto workplace = workplaces.Find(session, cwd);
    return workplace.ok() ? workplace->directory
                          : workplace.status().ToString();
  }

  static std::vector<std::string> Paths(const corral::v1::Sandbox& sandbox) {
    std::vector<std::string> paths = {sandbox.workspace().path()};
    for (const corral::v1::Workspace& further : sandbox.further_workspaces()) {
      paths.push_back(further.path());
    }
    return paths;
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
  sessions_.Open("a", {base / "link"});
  EXPECT_EQ(Directory(workplaces, "a", ""), base / "real");
  EXPECT_EQ(Directory(workplaces, "a", base / "link/sub"), base / "real/sub");
  EXPECT_EQ(Directory(workplaces, "a", base / "link/new"), base / "real/new");
  sessions_.Open("b", {base});
  EXPECT_EQ(Directory(workplaces, "b", "link/sub"), base / "real/sub");
  WorkplaceOptions options;
  options.workspace = (base / "link").string();
  Workplaces other(&calls_, &deletions_, &sessions_, options);
  EXPECT_THAT(Paths(other.Find("a", "")->sandbox->wanted()),
              ElementsAre((base / "real").string()));
  std::filesystem::remove_all(base);
}

TEST_F(WorkplacesTest, MapsADirectoryByItsOwnNameOrByThatOfItsLink) {
  char name[] = "/tmp/workplaces_test.XXXXXX";
  const std::filesystem::path base = ::mkdtemp(name);
  std::filesystem::create_directory(base / "real");
  std::filesystem::create_symlink("real", base / "link");
  sessions_.Open("a", {base / "link"});
  for (const std::string local : {"link", "real"}) {
    WorkplaceOptions options;
    ASSERT_TRUE(options.map.Add((base / local).string() + "=/there").ok());
    Workplaces workplaces(&calls_, &deletions_, &sessions_, options);
    EXPECT_EQ(Directory(workplaces, "a", ""), "/there") << local;
  }
  std::filesystem::remove_all(base);
}

TEST_F(WorkplacesTest, StartsInTheSessionsDirectory) {
  Workplaces workplaces(&calls_, &deletions_, &sessions_, {});
  sessions_.Open("a", {"/a/./x//y/../"});
  sessions_.Open("b", {"/b"});
  EXPECT_EQ(Directory(workplaces, "a", ""), "/a/x");
  EXPECT_EQ(Directory(workplaces, "a", "sub/dir"), "/a/x/sub/dir");
  EXPECT_EQ(Directory(workplaces, "a", "../z"), "/a/z");
  EXPECT_EQ(Directory(workplaces, "a", "/elsewhere/"), "/elsewhere");
  EXPECT_EQ(Directory(workplaces, "b", "."), "/b");
}

TEST_F(WorkplacesTest, GivesEachSessionItsOwnSandbox) {
  Workplaces workplaces(&calls_, &deletions_, &sessions_, {});
  sessions_.Open("a", {"/w"});
  sessions_.Open("b", {"/w"});
  EXPECT_EQ(workplaces.Find("a", "")->sandbox,
            workplaces.Find("a", "x")->sandbox);
  EXPECT_NE(workplaces.Find("a", "")->sandbox,
            workplaces.Find("b", "")->sandbox);
}

TEST_F(WorkplacesTest, ProtectsPathsOfEveryDirectory) {
  WorkplaceOptions options;
  options.protection.set_protect_host_tools(true);
  const corral::v1::Sandbox sandbox =
      Workplaces::ToSandbox(options, {"/w", {"/x"}});
  EXPECT_EQ(sandbox.workspace().path(), "/w");
  EXPECT_TRUE(sandbox.workspace().protect_host_tools());
  ASSERT_EQ(sandbox.further_workspaces_size(), 1);
  EXPECT_EQ(sandbox.further_workspaces(0).path(), "/x");
  EXPECT_TRUE(sandbox.further_workspaces(0).protect_host_tools());
}

class AgentsWorkplacesTest : public WorkplacesTest {
 protected:
  AgentsWorkplacesTest() {
    options_.workspace = "/none/w";
    options_.agent_sandbox = "tenants/default/sandboxes/agents";
    options_.sandbox.add_mounts()->set_source("/none/tool");
  }

  // Returns what Prepare() reports: the error, and the directories that are not
  // seen.
  std::vector<std::string> Report(Workplaces& workplaces,
                                  const std::string& session) {
    std::vector<std::string> report;
    workplaces.Prepare(session,
                       [&report](const absl::Status& status,
                                 const std::vector<std::string>& missing) {
                         report = missing;
                         report.emplace_back(status.message());
                       });
    return report;
  }

  WorkplaceOptions options_;
};

TEST_F(AgentsWorkplacesTest, AllSessionsShareTheAgentsSandbox) {
  Workplaces workplaces(&calls_, &deletions_, &sessions_, options_);
  sessions_.Open("a", {"/none/w/a", {"/none/w/b", "/none/other"}});
  sessions_.Open("b", {"/none/w"});
  const auto workplace = workplaces.Find("a", "");
  ASSERT_TRUE(workplace.ok());
  EXPECT_EQ(workplace->directory, "/none/w/a");
  EXPECT_EQ(workplace->sandbox, workplaces.Find("b", "")->sandbox);
  EXPECT_THAT(Paths(workplace->sandbox->wanted()), ElementsAre("/none/w"));
  EXPECT_EQ(workplace->sandbox->wanted().mounts(0).source(), "/none/tool");
  std::string name;
  const auto read = [&name](const absl::StatusOr<std::string>& ready) {
    name = ready.value_or(ready.status().ToString());
  };
  workplaces.Close("a");
  workplaces.CloseAll();
  workplace->sandbox->WhenReady(read);
  EXPECT_EQ(name, options_.agent_sandbox);
}

TEST_F(AgentsWorkplacesTest, ACommandOfARuleStillHasASandboxOfItsOwn) {
  Workplaces workplaces(&calls_, &deletions_, &sessions_, options_);
  sessions_.Open("a", {"/none/w"});
  const auto own = workplaces.Find("a", "")->sandbox;
  const auto of_rule = workplaces.SandboxOfRule("a", "1", {});
  EXPECT_NE(of_rule, own);
  EXPECT_EQ(of_rule->wanted().mounts_size(), 1);
  workplaces.Close("a");
  std::string name;
  of_rule->WhenReady([&name](const absl::StatusOr<std::string>& ready) {
    name = ready.status().ToString();
  });
  EXPECT_EQ(name, "CANCELLED: the session is closed");
}

TEST_F(AgentsWorkplacesTest, ReportsWhatTheAgentDoesNotSee) {
  Workplaces workplaces(&calls_, &deletions_, &sessions_, options_);
  sessions_.Open("in", {"/none/w/a", {"/none/w/b"}});
  sessions_.Open("out", {"/none/w2", {"/none/w/b", "/none/other/../x"}});
  EXPECT_THAT(Report(workplaces, "in"), ElementsAre(""));
  EXPECT_THAT(Report(workplaces, "out"),
              ElementsAre("/none/other/../x, which is outside of /none/w",
                          ::testing::HasSubstr(
                              "its directory /none/w2 is outside of "
                              "/none/w, and the agent sees no other")));
  EXPECT_THAT(Report(workplaces, "none"),
              ElementsAre("no session \"none\" is open"));
}

TEST_F(AgentsWorkplacesTest, TheAgentSeesTheDirectoryOfALink) {
  char name[] = "/tmp/workplaces_test.XXXXXX";
  const std::filesystem::path base = ::mkdtemp(name);
  std::filesystem::create_directory(base / "real");
  std::filesystem::create_symlink("real", base / "link");
  options_.workspace = (base / "real").string();
  Workplaces workplaces(&calls_, &deletions_, &sessions_, options_);
  const std::string link = (base / "link").string();
  sessions_.Open("a", {link, {link}});
  EXPECT_THAT(Report(workplaces, "a"), ElementsAre(""));
  std::filesystem::remove_all(base);
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
  sessions_.Open("a", {"relative"});
  sessions_.Open("b", {""});
  for (const char* session : {"a", "b"}) {
    EXPECT_EQ(workplaces.Find(session, "/w").status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(WorkplacesTest, PrefersTheWorkspaceOfTheCommandLine) {
  WorkplaceOptions options;
  options.workspace = "/w";
  Workplaces workplaces(&calls_, &deletions_, &sessions_, options);
  sessions_.Open("in", {"/w/project"});
  sessions_.Open("out", {"/w2"});
  EXPECT_EQ(Directory(workplaces, "in", ""), "/w/project");
  EXPECT_EQ(Directory(workplaces, "in", "x"), "/w/project/x");
  EXPECT_EQ(Directory(workplaces, "out", ""), "/w");
  sessions_.Open("none", {""});
  EXPECT_EQ(Directory(workplaces, "none", ""), "/w");
  options.workspace = "/";
  Workplaces whole(&calls_, &deletions_, &sessions_, options);
  EXPECT_EQ(Directory(whole, "in", ""), "/w/project");
}

TEST_F(WorkplacesTest, LendsAdditionalDirectoriesThatAreNotSeenAlready) {
  WorkplaceOptions options;
  ASSERT_TRUE(options.map.Add("/here=/there").ok());
  Workplaces workplaces(&calls_, &deletions_, &sessions_, options);
  sessions_.Open("a", {"/w/project",
                       {"/library", "/w/project/sub", "/here/x", "/library/",
                        "relative", "/library/inner", "/w/project"}});
  const auto workplace = workplaces.Find("a", "");
  ASSERT_TRUE(workplace.ok());
  EXPECT_EQ(workplace->directory, "/w/project");
  EXPECT_THAT(Paths(workplace->sandbox->wanted()),
              ElementsAre("/w/project", "/library", "/there/x"));
}

TEST_F(WorkplacesTest, WorksBelowAnAdditionalDirectoryThatHoldsTheSessions) {
  Workplaces workplaces(&calls_, &deletions_, &sessions_, {});
  sessions_.Open("a", {"/w/project", {"/library", "/w"}});
  const auto workplace = workplaces.Find("a", "");
  ASSERT_TRUE(workplace.ok());
  EXPECT_EQ(workplace->directory, "/w/project");
  EXPECT_THAT(Paths(workplace->sandbox->wanted()),
              ElementsAre("/w", "/library"));
}

TEST_F(WorkplacesTest, GivesTheCommandsOfARuleASandboxWithTheSmallerLimits) {
  WorkplaceOptions options;
  options.sandbox.mutable_limits()->set_memory_bytes(100);
  options.sandbox.mutable_limits()->set_pids(10);
  options.sandbox.set_profile(corral::v1::Sandbox::DEBUG);
  options.sandbox.set_network(corral::v1::Sandbox::ALLOW_LIST);
  options.sandbox.add_egress_rules()->set_host("a.example");
  Workplaces workplaces(&calls_, &deletions_, &sessions_, options);
  sessions_.Open("a", {"/w", {"/library"}});
  const auto own = workplaces.Find("a", "")->sandbox;
  corral::v1::Sandbox rule;
  rule.mutable_limits()->set_memory_bytes(200);
  rule.mutable_limits()->set_pids(5);
  rule.mutable_limits()->set_cpu_millis(500);
  rule.set_network(corral::v1::Sandbox::NONE);
  const auto other = workplaces.SandboxOfRule("a", "rule 1", rule);
  EXPECT_NE(other, own);
  EXPECT_EQ(other, workplaces.SandboxOfRule("a", "rule 1", rule));
  EXPECT_NE(other, workplaces.SandboxOfRule("a", "rule 2", rule));
  const corral::v1::Sandbox& wanted = other->wanted();
  EXPECT_THAT(Paths(wanted), ElementsAre("/w", "/library"));
  EXPECT_EQ(wanted.limits().memory_bytes(), 100);
  EXPECT_EQ(wanted.limits().pids(), 5);
  EXPECT_EQ(wanted.limits().cpu_millis(), 500);
  EXPECT_EQ(wanted.profile(), corral::v1::Sandbox::DEBUG);
  EXPECT_EQ(wanted.network(), corral::v1::Sandbox::NONE);
  EXPECT_TRUE(wanted.egress_rules().empty());
  rule.set_profile(corral::v1::Sandbox::STRICT);
  rule.set_network(corral::v1::Sandbox::ALLOW_LIST);
  rule.add_egress_rules()->set_host("b.example");
  const corral::v1::Sandbox& third =
      workplaces.SandboxOfRule("a", "rule 3", rule)->wanted();
  EXPECT_EQ(third.profile(), corral::v1::Sandbox::STRICT);
  EXPECT_EQ(third.network(), corral::v1::Sandbox::ALLOW_LIST);
  ASSERT_EQ(third.egress_rules_size(), 1);
  EXPECT_EQ(third.egress_rules(0).host(), "b.example");
  workplaces.Close("a");
  EXPECT_EQ(workplaces.SandboxOfRule("a", "rule 1", rule), nullptr);
}

TEST_F(WorkplacesTest, KeepsTheSmallestLimitOfEachKind) {
  const auto limits = [](uint64_t memory, uint64_t pids, uint64_t cpu) {
    corral::v1::Sandbox sandbox;
    if (memory != 0) {
      sandbox.mutable_limits()->set_memory_bytes(memory);
    }
    if (pids != 0) {
      sandbox.mutable_limits()->set_pids(pids);
    }
    if (cpu != 0) {
      sandbox.mutable_limits()->set_cpu_millis(cpu);
    }
    return sandbox;
  };
  const struct {
    corral::v1::Sandbox own;
    corral::v1::Sandbox rule;
    const char* wanted;
  } cases[] = {
      {limits(0, 0, 0), limits(1, 2, 3),
       "memory_bytes: 1 pids: 2 cpu_millis: 3"},
      {limits(1, 2, 3), limits(0, 0, 0),
       "memory_bytes: 1 pids: 2 cpu_millis: 3"},
      {limits(10, 20, 30), limits(5, 25, 25),
       "memory_bytes: 5 pids: 20 cpu_millis: 25"},
      {limits(10, 20, 30), limits(15, 15, 35),
       "memory_bytes: 10 pids: 15 cpu_millis: 30"},
  };
  for (const auto& example : cases) {
    WorkplaceOptions options;
    options.sandbox = example.own;
    options.sandbox.set_network(corral::v1::Sandbox::ALLOW_LIST);
    options.sandbox.add_egress_rules()->set_host("a.example");
    Workplaces workplaces(&calls_, &deletions_, &sessions_, options);
    sessions_.Open("a", {"/w"});
    ASSERT_TRUE(workplaces.Find("a", "").ok());
    const corral::v1::Sandbox wanted =
        workplaces.SandboxOfRule("a", "rule 1", example.rule)->wanted();
    EXPECT_EQ(wanted.limits().ShortDebugString(), example.wanted);
    EXPECT_EQ(wanted.network(), corral::v1::Sandbox::ALLOW_LIST);
    EXPECT_EQ(wanted.egress_rules_size(), 1);
  }
}

TEST_F(WorkplacesTest, LendsEveryDirectoryReadOnlyIfToldSo) {
  for (const bool read_only : {false, true}) {
    WorkplaceOptions options;
    options.read_only = read_only;
    Workplaces workplaces(&calls_, &deletions_, &sessions_, options);
    sessions_.Open("a", {"/w", {"/library"}});
    const auto workplace = workplaces.Find("a", "");
    ASSERT_TRUE(workplace.ok());
    const corral::v1::Sandbox& wanted = workplace->sandbox->wanted();
    EXPECT_EQ(wanted.workspace().read_only(), read_only);
    EXPECT_EQ(wanted.further_workspaces(0).read_only(), read_only);
  }
}

TEST_F(WorkplacesTest, NormalizesPaths) {
  EXPECT_EQ(NormalizePath("/"), "/");
  EXPECT_EQ(NormalizePath("//"), "/");
  EXPECT_EQ(NormalizePath("//a"), "/a");
  EXPECT_EQ(NormalizePath("///a//b/"), "/a/b");
  EXPECT_EQ(NormalizePath("/a/../.."), "/");
  EXPECT_EQ(NormalizePath("/a/b/."), "/a/b");
}

}  // namespace
}  // namespace bridge
