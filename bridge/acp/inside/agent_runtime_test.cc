#include "bridge/acp/inside/agent_runtime.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::IsOk;
using ::tests::StatusIs;

class AgentRuntimeTest : public ::testing::Test {
 protected:
  AgentRuntimeTest() {
    std::filesystem::create_directories(home_);
    surroundings_.home = home_;
    surroundings_.directory = base_;
  }
  ~AgentRuntimeTest() override { std::filesystem::remove_all(base_); }

  static std::string MakeDirectory() {
    std::string path =
        std::filesystem::canonical(::testing::TempDir()).string() +
        "/runtime_XXXXXX";
    return ::mkdtemp(path.data());
  }

  // Paths begin with "~" for the home directory.
  std::string Path(absl::string_view name) const {
    return absl::StrCat(home_, name.substr(1));
  }
  void Program(absl::string_view name, const std::string& text =
                                           "\x7f"
                                           "ELF") {
    const std::filesystem::path path = Path(name);
    std::filesystem::create_directories(path.parent_path());
    tests::WriteFile(path, text);
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  }
  void Link(absl::string_view name, const std::string& target) {
    const std::filesystem::path path = Path(name);
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(target, path);
  }
  void Search(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      absl::StrAppend(&surroundings_.path,
                      surroundings_.path.empty() ? "" : ":",
                      name.substr(0, 1) == "~" ? Path(name) : name);
    }
  }
  AgentRuntime Find(const std::string& program) {
    const absl::StatusOr<AgentRuntime> found =
        FindRuntime(program, surroundings_);
    EXPECT_THAT(found.status(), IsOk());
    return found.ok() ? *found : AgentRuntime();
  }

  const std::string base_ = MakeDirectory();
  const std::string home_ = base_ + "/home";
  Surroundings surroundings_;
};

TEST_F(AgentRuntimeTest, NeedsNothingForAProgramOfTheSystem) {
  Search({"/nowhere", "/usr/bin"});
  const AgentRuntime found = Find("env");
  EXPECT_EQ(found.program, "/usr/bin/env");
  EXPECT_THAT(found.directories, IsEmpty());
  EXPECT_THAT(found.path, IsEmpty());
}

TEST_F(AgentRuntimeTest, FindsAnNpmProgramAndItsNodeBelowNvm) {
  const std::string prefix = "~/.nvm/versions/node/v20";
  Program(prefix + "/bin/node");
  Program(prefix + "/lib/node_modules/@a/agent/index.js",
          "#!/usr/bin/env -S X=1 node --flag\n");
  Link(prefix + "/bin/agent", "../lib/node_modules/@a/agent/index.js");
  Link("~/.nvm/current", "versions/node/v20");
  Search({"~/.nvm/current/bin"});
  const AgentRuntime found = Find("agent");
  EXPECT_EQ(found.program, Path(prefix + "/bin/agent"));
  EXPECT_THAT(found.directories, ElementsAre(Path(prefix)));
  EXPECT_THAT(found.path,
              ElementsAre(Path(prefix + "/bin"), Path(prefix + "/bin")));
}

TEST_F(AgentRuntimeTest, FindsAGlobalFolderApartFromItsInterpreter) {
  Program("~/node/bin/node");
  Program("~/npm/lib/node_modules/agent/node_modules/x/cli.js",
          "#! /usr/bin/env node\r\n");
  Link("~/.local/bin/agent",
       Path("~/npm/lib/node_modules/agent/node_modules/x/cli.js"));
  Search({"~/.local/bin", "~/node/bin"});
  const AgentRuntime found = Find("agent");
  EXPECT_EQ(found.program, Path("~/.local/bin/agent"));
  EXPECT_THAT(found.directories,
              ElementsAre(Path("~/.local/bin"), Path("~/node"),
                          Path("~/npm/lib/node_modules")));
  EXPECT_THAT(found.path,
              ElementsAre(Path("~/.local/bin"), Path("~/node/bin")));
}

TEST_F(AgentRuntimeTest, ShowsOnlyTheProgramsOfSharedPrefixes) {
  Program("~/.cargo/bin/one");
  Program("~/.local/share/agent/versions/2.0");
  Link("~/.local/bin/two", "../share/agent/versions/2.0");
  Program("~/bin/three");
  Search({"~/.cargo/bin", "~/.local/bin", "~/bin"});
  EXPECT_THAT(Find("one").directories, ElementsAre(Path("~/.cargo/bin")));
  EXPECT_THAT(
      Find("two").directories,
      ElementsAre(Path("~/.local/bin"), Path("~/.local/share/agent/versions")));
  EXPECT_THAT(Find("three").directories, ElementsAre(Path("~/bin")));
}

TEST_F(AgentRuntimeTest, ShowsAPythonEnvironmentAsAWhole) {
  Program("~/venvs/a/bin/agent", "#!" + Path("~/venvs/a/bin/python") + "\n");
  Program("~/.pyenv/versions/3.12/bin/python3.12");
  Link("~/venvs/a/bin/python", Path("~/.pyenv/versions/3.12/bin/python3.12"));
  const AgentRuntime found = Find(Path("~/venvs/a/bin/agent"));
  EXPECT_THAT(found.directories,
              ElementsAre(Path("~/.pyenv"), Path("~/venvs/a")));
}

TEST_F(AgentRuntimeTest, LeavesOutWhatTheSandboxShowsAnyway) {
  Program("~/node/bin/node");
  Program("~/project/tools/agent", "#!/usr/bin/env node\n");
  Search({"~/node/bin"});
  surroundings_.directory = Path("~/project");
  surroundings_.known = {Path("~/project")};
  const AgentRuntime found = Find("tools/agent");
  EXPECT_EQ(found.program, Path("~/project/tools/agent"));
  EXPECT_THAT(found.directories, ElementsAre(Path("~/node")));
  EXPECT_THAT(found.path, ElementsAre(Path("~/node/bin")));
}

TEST_F(AgentRuntimeTest, ShowsADirectoryInsideOfAnotherOnce) {
  Program("~/a/bin/agent", "#!" + Path("~/a/lib/tool") + "\n");
  Program("~/a/lib/tool");
  Program("~/ab/x");
  EXPECT_THAT(Find(Path("~/a/bin/agent")).directories,
              ElementsAre(Path("~/a")));
}

TEST_F(AgentRuntimeTest, RefusesToShowTheHomeDirectoryOrOneAboveIt) {
  Program("~/agent");
  for (const std::string& home : {home_, home_ + "/below"}) {
    surroundings_.home = home;
    EXPECT_THAT(FindRuntime(Path("~/agent"), surroundings_).status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr(absl::StrCat("lies in ", home_, ","))));
  }
  surroundings_.home = "";
  EXPECT_THAT(Find(Path("~/agent")).directories, ElementsAre(home_));
}

TEST_F(AgentRuntimeTest, SaysWhatItDoesNotFind) {
  Program("~/a/x", "#!/usr/bin/env nosuch\n");
  tests::WriteFile(Path("~/plain"), "");
  Link("~/a/loop", "loop");
  Search({"", "~", "~/a", "/usr/bin"});
  for (const char* program : {"nosuch", "plain", "x", "loop"}) {
    EXPECT_THAT(FindRuntime(program, surroundings_).status(),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("PATH")))
        << program;
  }
  EXPECT_THAT(FindRuntime("a/x/none", surroundings_).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("a/x/none is not an executable file")));
}

TEST_F(AgentRuntimeTest, RefusesToShowADirectoryOfAllUsers) {
  std::string file = "/tmp/agent_XXXXXX";
  const sandbox::UniqueFd made(::mkstemp(file.data()));
  ASSERT_EQ(::fchmod(made.get(), 0755), 0);
  EXPECT_THAT(FindRuntime(file, surroundings_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("lies in /tmp,")));
  std::filesystem::remove(file);
}

TEST_F(AgentRuntimeTest, NeedsNoInterpreterThatIsNotNamed) {
  Program("~/a/x", "#!\n");
  Program("~/a/y", "#!/usr/bin/env -S X=1\n");
  for (const char* name : {"~/a/x", "~/a/y"}) {
    EXPECT_THAT(Find(Path(name)).directories, ElementsAre(Path("~/a")));
  }
}

TEST_F(AgentRuntimeTest, EndsWhenAnInterpreterNeedsItself) {
  Program("~/a/x", "#!" + Path("~/a/x") + "\n");
  EXPECT_THAT(Find(Path("~/a/x")).directories, ElementsAre(Path("~/a")));
}

}  // namespace
}  // namespace bridge
