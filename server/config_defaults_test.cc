#include "server/config_defaults.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/config.h"
#include "server/flags.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::IsOk;
using ::tests::StatusIs;

TEST(ConfigDefaultsTest, KeepTheStateOfAPersonInADirectoryOfItsOwn) {
  const uid_t user = ::geteuid();
  if (user == 0 && ::seteuid(1000) != 0) {
    GTEST_SKIP() << "there is no user 1000 in this user namespace";
  }
  const char* const old = std::getenv("HOME");
  const std::string home = old == nullptr ? "/" : old;
  ::setenv("XDG_STATE_HOME", "/state", 1);
  const auto named = ParseConfig("", "listen: 'unix:/run/x'", Flags());
  const std::vector<std::string> session = SessionDirectories();
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::setenv("HOME", "/home/person", 1);
  const auto usual = ParseConfig("", "listen: 'unix:/run/x'", Flags());
  ::unsetenv("XDG_STATE_HOME");
  ::unsetenv("HOME");
  const auto unset = ParseConfig("", "listen: 'unix:/run/x'", Flags());
  ::setenv("HOME", home.c_str(), 1);
  ASSERT_EQ(::seteuid(user), 0);
  ASSERT_THAT(named.status(), IsOk());
  EXPECT_EQ(named->state_dir(), "/state/corral");
  EXPECT_THAT(session, Contains("/state/corral"));
  EXPECT_THAT(session,
              Contains(absl::StrCat("/run/user/", user == 0 ? 1000 : user)));
  ASSERT_THAT(usual.status(), IsOk());
  EXPECT_EQ(usual->state_dir(), "/home/person/.local/state/corral");
  EXPECT_THAT(unset.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("$XDG_STATE_HOME")));
}

TEST(ConfigDefaultsTest, KnowNoSessionOfRoot) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  EXPECT_THAT(SessionDirectories(), IsEmpty());
}

}  // namespace
}  // namespace server
