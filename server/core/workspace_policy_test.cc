#include "server/core/workspace_policy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "corral/v1/error_reason.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uid_t kRoot = 0;
constexpr uid_t kPerson = 1000;

class WorkspacePolicyTest : public ::testing::Test {
 protected:
  WorkspacePolicyTest() {
    char name[] = "/var/tmp/corral_policy_XXXXXX";
    directory_ = ::mkdtemp(name);
    for (const char* each :
         {"/allowed/project/deep", "/other", "/state/boxes", "/socket"}) {
      std::filesystem::create_directories(directory_ + each);
    }
  }
  ~WorkspacePolicyTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + name; }

  void Link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directory_symlink(target, Path(name));
  }

  WorkspacePolicy::Options Options() const {
    WorkspacePolicy::Options options;
    options.state_directory = Path("/state");
    options.socket_directory = Path("/socket");
    return options;
  }
  WorkspacePolicy WithRoots(const std::vector<std::string>& roots) const {
    WorkspacePolicy::Options options = Options();
    options.roots = roots;
    options.has_remote_clients = true;
    return WorkspacePolicy(options);
  }
  WorkspacePolicy Local(uid_t user) const {
    WorkspacePolicy::Options options = Options();
    options.user = user;
    return WorkspacePolicy(options);
  }

  std::string directory_;
};

absl::Status Check(const WorkspacePolicy& policy, const std::string& path) {
  return policy.Check(path, /*read_only=*/false);
}

// Why `path` may not be a workspace.
std::string Refusal(const WorkspacePolicy& policy, const std::string& path) {
  const absl::Status status = Check(policy, path);
  EXPECT_EQ(ReasonOf(status), corral::v1::INVALID_FIELD) << path;
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("sandbox.workspace.path is \"" + path)));
  return std::string(status.message());
}

TEST_F(WorkspacePolicyTest, AllowsARootAndEveryDirectoryBelowIt) {
  const WorkspacePolicy policy = WithRoots({"/nonexistent", Path("/allowed")});
  EXPECT_THAT(Check(policy, Path("/allowed")), IsOk());
  EXPECT_THAT(Check(policy, Path("/allowed/project/deep")), IsOk());
}

TEST_F(WorkspacePolicyTest, RefusesWhereServicesOfTheUserHaveTheirSockets) {
  std::filesystem::create_directories(Path("/session/service"));
  std::filesystem::create_directories(Path("/home/project"));
  WorkspacePolicy::Options options = Options();
  options.user = kPerson;
  options.session_directories = {Path("/session"), Path("/home/state/corral")};
  for (const bool has_roots : {false, true}) {
    options.roots = has_roots ? std::vector<std::string>{directory_}
                              : std::vector<std::string>();
    const WorkspacePolicy policy(options);
    for (const char* refused : {"/session", "/session/service", "/home"}) {
      EXPECT_THAT(Refusal(policy, Path(refused)), HasSubstr("sockets"))
          << refused;
    }
    EXPECT_THAT(Check(policy, Path("/home/project")), IsOk());
    EXPECT_THAT(Check(policy, Path("/other")), IsOk());
  }
}

TEST_F(WorkspacePolicyTest, RefusesEveryDirectoryOutsideOfTheRoots) {
  std::filesystem::create_directory(Path("/allowed2"));
  const WorkspacePolicy policy = WithRoots({Path("/allowed"), "/nonexistent"});
  for (const std::string& path :
       {Path("/other"), Path("/allowed2"), Path(""), std::string("/root"),
        std::string("/home"), std::string("/run"), std::string("/var/lib"),
        std::string("/etc")}) {
    EXPECT_THAT(
        Refusal(policy, path),
        HasSubstr("workspace_roots: " + Path("/allowed") + ", /nonexistent"))
        << path;
  }
}

TEST_F(WorkspacePolicyTest, DoesNotShowWhatIsOutsideOfTheRoots) {
  Link("/other/link", Path("/allowed"));
  const WorkspacePolicy policy = WithRoots({Path("/allowed")});
  for (const char* name : {"/other/link", "/other/missing", "/other"}) {
    EXPECT_THAT(Refusal(policy, Path(name)),
                HasSubstr("at or below the server's workspace_roots"));
  }
}

TEST_F(WorkspacePolicyTest, RefusesAPathWithALink) {
  Link("/allowed/out", "/etc");
  Link("/allowed/in", Path("/allowed/project"));
  for (const WorkspacePolicy& policy :
       {WithRoots({Path("/allowed")}), Local(kRoot)}) {
    for (const std::string& link :
         {Path("/allowed/out"), Path("/allowed/in")}) {
      EXPECT_THAT(Refusal(policy, link), HasSubstr("(" + link + " is one)"));
    }
    EXPECT_THAT(Refusal(policy, Path("/allowed/in/deep")),
                HasSubstr("(" + Path("/allowed/in") + " is one)"));
  }
}

TEST_F(WorkspacePolicyTest, ARootThatIsALinkStandsForTheDirectoryItLeadsTo) {
  Link("/alias", Path("/allowed"));
  const WorkspacePolicy policy = WithRoots({Path("/alias")});
  EXPECT_THAT(Check(policy, Path("/allowed/project")), IsOk());
  EXPECT_THAT(Refusal(policy, Path("/alias/work")),
              HasSubstr("(" + Path("/alias") + " is one)"));
}

TEST_F(WorkspacePolicyTest, ARootOfSlashAllowsAllButTheServersOwnDirectories) {
  const WorkspacePolicy policy = WithRoots({"/"});
  EXPECT_THAT(Check(policy, Path("/other")), IsOk());
  EXPECT_THAT(Refusal(policy, Path("/state")), HasSubstr(Path("/state")));
  EXPECT_THAT(Refusal(policy, "/"), HasSubstr(Path("/state")));
}

TEST_F(WorkspacePolicyTest, NeverAllowsTheStateDirectoryNorOneAboveOrBelow) {
  for (const WorkspacePolicy& policy :
       {WithRoots({directory_}), Local(kRoot), Local(kPerson)}) {
    for (const char* name : {"", "/state", "/state/boxes"}) {
      EXPECT_THAT(Refusal(policy, Path(name)),
                  HasSubstr("the server's state_dir, " + Path("/state")))
          << name;
    }
    EXPECT_THAT(Check(policy, Path("/other")), IsOk());
  }
}

TEST_F(WorkspacePolicyTest, NeverAllowsTheSocketsDirectoryNorOneAbove) {
  std::filesystem::create_directories(Path("/run/socket/work"));
  WorkspacePolicy::Options options = Options();
  options.socket_directory = Path("/run/socket");
  const WorkspacePolicy policy(options);
  for (const char* name : {"/run", "/run/socket"}) {
    EXPECT_THAT(Refusal(policy, Path(name)), HasSubstr("the server's socket"))
        << name;
  }
  EXPECT_THAT(Check(policy, Path("/run/socket/work")), IsOk());
}

TEST_F(WorkspacePolicyTest, FindsAStateDirectoryThatIsConfiguredByALink) {
  Link("/to_state", Path("/state"));
  WorkspacePolicy::Options options;
  options.state_directory = Path("/to_state");
  const WorkspacePolicy policy(options);
  Refusal(policy, Path("/state"));
  Refusal(policy, Path("/state/boxes"));
  Refusal(policy, directory_);
}

TEST_F(WorkspacePolicyTest, AllowsNothingWhileTheStateDirectoryIsMissing) {
  WorkspacePolicy::Options options;
  options.state_directory = Path("/missing");
  EXPECT_THAT(Refusal(WorkspacePolicy(options), Path("/other")),
              HasSubstr("the server's state_dir"));
}

TEST_F(WorkspacePolicyTest, RemoteClientsHaveNoWorkspaceWithoutRoots) {
  WorkspacePolicy::Options options = Options();
  options.has_remote_clients = true;
  EXPECT_THAT(Refusal(WorkspacePolicy(options), Path("/other")),
              HasSubstr("names no workspace_roots"));
}

TEST_F(WorkspacePolicyTest, LocalRootHasEverythingButTheSystem) {
  const WorkspacePolicy policy = Local(kRoot);
  EXPECT_THAT(Check(policy, Path("/other")), IsOk());
  EXPECT_THAT(Check(policy, "/root"), IsOk());
  EXPECT_THAT(Check(policy, "/usr/src"), IsOk());
  for (const char* path :
       {"/", "/run", "/home", "/var", "/var/lib", "/etc", "/etc/apt", "/usr",
        "/usr/lib", "/boot", "/var/lib/dpkg", "/var/cache/apt", "/var/log"}) {
    EXPECT_THAT(Refusal(policy, path), HasSubstr("not of the system")) << path;
  }
}

TEST_F(WorkspacePolicyTest, ALocalPersonMayLendWhatTheSystemLetsEverybodyRead) {
  EXPECT_THAT(Local(kPerson).Check("/usr/lib", /*read_only=*/true), IsOk());
}

TEST_F(WorkspacePolicyTest, NeverAllowsADirectoryOfAnotherServer) {
  for (const char* name : {"/theirs/sandboxes/box", "/their_run/below"}) {
    std::filesystem::create_directories(Path(name));
  }
  { std::ofstream file(Path("/theirs/lock")); }
  ASSERT_EQ(::chmod(Path("/theirs/sandboxes").c_str(), 0700), 0);
  ASSERT_EQ(::mknod(Path("/their_run/corrald.sock").c_str(), S_IFSOCK, 0), 0);
  for (const WorkspacePolicy& policy :
       {WithRoots({directory_}), Local(kRoot), Local(kPerson)}) {
    for (const char* name : {"/theirs", "/theirs/sandboxes/box", "/their_run",
                             "/their_run/below"}) {
      EXPECT_THAT(Refusal(policy, Path(name)),
                  HasSubstr("belongs to a corrald"))
          << name;
    }
  }
}

TEST_F(WorkspacePolicyTest, RefusesAPathThatIsNotADirectory) {
  { std::ofstream file(Path("/allowed/file")); }
  for (const WorkspacePolicy& policy :
       {WithRoots({Path("/allowed")}), Local(kRoot)}) {
    EXPECT_THAT(Refusal(policy, Path("/allowed/none")),
                HasSubstr("No such file or directory"));
    EXPECT_THAT(Refusal(policy, Path("/allowed/file")),
                HasSubstr("Not a directory"));
  }
}

absl::Status CheckMount(const WorkspacePolicy& policy, const std::string& path,
                        bool writable = false) {
  return policy.CheckMount(path, /*read_only=*/!writable);
}

TEST_F(WorkspacePolicyTest, AMountMayLieWhereAWorkspaceMay) {
  EXPECT_THAT(
      CheckMount(WithRoots({Path("/allowed")}), Path("/allowed/project"), true),
      IsOk());
  EXPECT_THAT(CheckMount(Local(kRoot), Path("/other"), true), IsOk());
  EXPECT_THAT(std::string(CheckMount(Local(kRoot), "/var/lib").message()),
              HasSubstr("not of the system"));
}

TEST_F(WorkspacePolicyTest, AMountRootAllowsMountsButNoWorkspace) {
  for (const bool is_writable : {false, true}) {
    WorkspacePolicy::Options options = Options();
    options.roots = {Path("/allowed")};
    options.has_remote_clients = true;
    options.mount_roots = {{"/nonexistent", true},
                           {Path("/other"), is_writable}};
    std::filesystem::create_directories(Path("/other/tool"));
    const WorkspacePolicy policy(options);
    EXPECT_THAT(CheckMount(policy, Path("/other")), IsOk());
    EXPECT_THAT(CheckMount(policy, Path("/other/tool")), IsOk());
    EXPECT_EQ(CheckMount(policy, Path("/other"), true).ok(), is_writable);
    EXPECT_THAT(Refusal(policy, Path("/other")), HasSubstr("workspace_roots"));
  }
}

TEST_F(WorkspacePolicyTest, ARefusedMountLearnsWhichRootsThereAre) {
  WorkspacePolicy::Options options = Options();
  options.has_remote_clients = true;
  EXPECT_THAT(
      std::string(
          CheckMount(WorkspacePolicy(options), Path("/other")).message()),
      HasSubstr("allowed: no mount, since the server's configuration "
                "names neither workspace_roots nor mount_roots"));
  options.mount_roots = {{"/a", true}, {"/b", false}};
  EXPECT_THAT(
      std::string(
          CheckMount(WorkspacePolicy(options), Path("/other")).message()),
      HasSubstr("mount_roots: /a, /b (read-only)"));
  options.roots = {"/w"};
  options.has_remote_clients = false;
  EXPECT_THAT(
      std::string(
          CheckMount(WorkspacePolicy(options), Path("/none")).message()),
      HasSubstr("mount_roots: /w, /a, /b (read-only)"));
}

TEST_F(WorkspacePolicyTest, AMountRootOpensNeitherLinksNorOwnDirectories) {
  Link("/other/link", "/etc");
  { std::ofstream file(Path("/other/file")); }
  WorkspacePolicy::Options options = Options();
  options.mount_roots = {{directory_, true}};
  const WorkspacePolicy policy(options);
  const auto refusal = [&](const char* name) {
    return std::string(CheckMount(policy, Path(name)).message());
  };
  EXPECT_THAT(refusal("/other/link"), HasSubstr("is one); name the real path"));
  EXPECT_THAT(refusal("/other/file"), HasSubstr("Not a directory"));
  EXPECT_THAT(refusal("/state/boxes"), HasSubstr("the server's state_dir"));
  EXPECT_THAT(refusal(""), HasSubstr("the server's state_dir"));
  EXPECT_THAT(refusal("/socket"), HasSubstr("the server's socket"));
}

// Root may write everything, so this test becomes somebody else.
TEST_F(WorkspacePolicyTest, ALocalPersonHasWhatThatPersonMayWrite) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
  ASSERT_EQ(::chown(Path("/other").c_str(), kPerson, kPerson), 0);
  ASSERT_EQ(::seteuid(kPerson), 0);
  const WorkspacePolicy policy = Local(kPerson);
  EXPECT_THAT(Check(policy, Path("/other")), IsOk());
  EXPECT_THAT(Refusal(policy, Path("/allowed")),
              HasSubstr("that user 1000 may write"));
  EXPECT_THAT(policy.Check(Path("/allowed"), /*read_only=*/true), IsOk());
  ASSERT_EQ(::chmod(Path("/other").c_str(), 0600), 0);
  EXPECT_THAT(Refusal(policy, Path("/other")),
              HasSubstr("that user 1000 may write"));
  ASSERT_EQ(::seteuid(kRoot), 0);
}

TEST_F(WorkspacePolicyTest, DirectoriesThatOnlyResembleAServersAreAllowed) {
  // The state directory of a server has mode 0700, a directory "sandboxes" and
  // a file "lock"; the directory of its socket has a socket.
  for (const char* name :
       {"/open/sandboxes", "/unlocked/sandboxes", "/bare", "/odd/lock"}) {
    std::filesystem::create_directories(Path(name));
  }
  for (const char* name :
       {"/open/lock", "/bare/lock", "/odd/sandboxes", "/odd/corrald.sock"}) {
    std::ofstream file(Path(name));
  }
  ASSERT_EQ(::chmod(Path("/open/sandboxes").c_str(), 0755), 0);
  for (const char* name : {"/unlocked/sandboxes", "/bare", "/odd"}) {
    ASSERT_EQ(::chmod(Path(name).c_str(), 0700), 0);
  }
  for (const char* name : {"/open", "/unlocked", "/bare", "/odd"}) {
    EXPECT_THAT(Check(Local(kRoot), Path(name)), IsOk()) << name;
  }
}

}  // namespace
}  // namespace server
