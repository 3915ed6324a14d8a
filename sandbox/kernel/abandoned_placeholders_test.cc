#include "sandbox/kernel/abandoned_placeholders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/placeholder.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

class AbandonedPlaceholdersTest : public ::testing::Test {
 protected:
  AbandonedPlaceholdersTest() {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    // No part of a workspace's path is a link.
    path_ = std::filesystem::canonical(path_);
  }
  ~AbandonedPlaceholdersTest() override { std::filesystem::remove_all(path_); }

  // Makes a placeholder that nobody holds. Its owner did not remove it.
  void Leave(const std::string& directory, const std::string& name,
             const char* content) const {
    const std::string place = path_ + "/" + directory + "/" + name;
    if (content == nullptr) {
      std::filesystem::create_directory(place);
      EXPECT_EQ(::chmod(place.c_str(), S_ISVTX | 0755), 0);
    } else {
      tests::WriteFile(place, content);
      EXPECT_EQ(::chmod(place.c_str(), S_ISVTX | 0644), 0);
    }
  }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(
        std::filesystem::symlink_status(path_ + "/" + name));
  }

  std::string path_ = ::testing::TempDir() + "/abandoned_XXXXXX";
};

TEST_F(AbandonedPlaceholdersTest, AreRemovedWhereverTheyStand) {
  std::filesystem::create_directories(path_ + "/.git/info");
  Leave(".git", "config", "");
  Leave(".git/info", "attributes", nullptr);
  Leave("", ".vscode", nullptr);
  RemoveAbandonedPlaceholders(
      path_, {".git/config", ".git/info/attributes", ".vscode/tasks.json"});
  EXPECT_FALSE(Exists(".git/config"));
  EXPECT_FALSE(Exists(".git/info/attributes"));
  EXPECT_FALSE(Exists(".vscode"));
  EXPECT_TRUE(Exists(".git/info"));
}

TEST_F(AbandonedPlaceholdersTest, StayAsLongAsAnotherSandboxUsesThem) {
  Leave("", "ci", nullptr);
  const UniqueFd directory(
      ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  {
    const std::optional<Placeholder> used =
        Placeholder::Find(directory.get(), "ci");
    ASSERT_TRUE(used.has_value());
    RemoveAbandonedPlaceholders(path_, {"ci"});
    EXPECT_TRUE(Exists("ci"));
  }
  EXPECT_FALSE(Exists("ci"));
}

TEST_F(AbandonedPlaceholdersTest, DifferFromFilesOfTheWorkspace) {
  std::filesystem::create_directories(path_ + "/ci");
  tests::WriteFile(path_ + "/empty", "");
  Leave("", "filled", nullptr);
  tests::WriteFile(path_ + "/filled/file", "");
  std::filesystem::create_directories(path_ + "/elsewhere");
  Leave("elsewhere", "hooks", nullptr);
  std::filesystem::create_symlink("elsewhere", path_ + "/link");
  RemoveAbandonedPlaceholders(
      path_, {"ci", "empty", "filled", "link/hooks", "empty/below", "none"});
  for (const char* name : {"ci", "empty", "filled", "elsewhere/hooks"}) {
    EXPECT_TRUE(Exists(name)) << name;
  }
}

TEST_F(AbandonedPlaceholdersTest, AreNotLookedForBehindALink) {
  std::filesystem::create_directories(path_ + "/workspace");
  Leave("workspace", "ci", nullptr);
  std::filesystem::create_symlink("workspace", path_ + "/link");
  RemoveAbandonedPlaceholders(path_ + "/link", {"ci"});
  EXPECT_TRUE(Exists("workspace/ci"));
  RemoveAbandonedPlaceholders(path_ + "/nowhere", {"ci"});
}

}  // namespace
}  // namespace sandbox
