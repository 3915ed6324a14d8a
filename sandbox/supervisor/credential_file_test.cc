#include "sandbox/supervisor/credential_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::tests::IsOk;
using ::tests::StatusIs;

class CredentialFileTest : public ::testing::Test {
 protected:
  CredentialFileTest() {
    char name[] = "/tmp/credential_file_test.XXXXXX";
    directory_ = ::mkdtemp(name);
    std::filesystem::create_directories(directory_ + "/seen/deep");
    std::filesystem::create_directories(directory_ + "/keys");
  }
  ~CredentialFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = absl::StrCat(directory_, "/", name);
    std::ofstream(path) << bytes;
    return path;
  }
  absl::StatusOr<std::string> Read(const std::string& path) {
    return ReadCredentialFile(path, {"/nowhere", directory_ + "/seen"});
  }

  std::string directory_;
};

TEST_F(CredentialFileTest, ReadsTheValueWithoutANewline) {
  EXPECT_EQ(*Read(Write("keys/a", "secret value\n")), "secret value");
  EXPECT_EQ(*Read(Write("keys/a", "secret\r\n")), "secret");
  EXPECT_EQ(*Read(Write("keys/a", "secret")), "secret");
  const std::string most(kMaxCredential, 'x');
  EXPECT_EQ(*Read(Write("keys/a", most + "\r\n")), most);
}

TEST_F(CredentialFileTest, RefusesWhatIsNoValueWithoutShowingIt) {
  for (const std::string& bytes :
       {std::string(), std::string("\n"), std::string("secret\nsecret\n"),
        std::string("secret\r"), std::string("secret\0", 7),
        std::string("secret\t"), std::string("secret\xc3\xa4"),
        std::string(kMaxCredential + 1, 's')}) {
    const std::string path = Write("keys/a", bytes);
    const auto read = Read(path);
    EXPECT_THAT(read.status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(path), Not(HasSubstr("secret")))));
  }
}

TEST_F(CredentialFileTest, RefusesWhatIsNoFile) {
  EXPECT_THAT(Read(directory_ + "/keys/none").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("keys/none")));
  EXPECT_THAT(Read(directory_ + "/keys").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a regular file")));
  const std::string pipe = directory_ + "/keys/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Read(pipe).status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("a regular file")));
}

TEST_F(CredentialFileTest, FollowsLinksButNotToWhatCommandsSee) {
  const std::string key = Write("keys/a", "secret");
  const std::string seen = Write("seen/deep/b", "secret");
  const std::string link = directory_ + "/keys/link";
  ASSERT_EQ(::symlink(key.c_str(), link.c_str()), 0);
  EXPECT_EQ(*Read(link), "secret");
  ::unlink(link.c_str());
  ASSERT_EQ(::symlink(seen.c_str(), link.c_str()), 0);
  for (const std::string& path :
       {link, seen, directory_ + "/keys/../seen/deep/b"}) {
    EXPECT_THAT(Read(path).status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("which commands of the sandbox see")))
        << path;
  }
}

TEST_F(CredentialFileTest, KnowsDirectoriesBehindLinks) {
  const std::string key = Write("keys/a", "secret");
  ASSERT_EQ(::symlink("keys", (directory_ + "/alias").c_str()), 0);
  EXPECT_THAT(CheckIsUnseen(key, {directory_ + "/alias"}), Not(IsOk()));
  EXPECT_THAT(CheckIsUnseen(key, {directory_ + "/key"}), IsOk());
  EXPECT_THAT(CheckIsUnseen("/no/such/file", {"/no/such"}), IsOk());
}

}  // namespace
}  // namespace sandbox
