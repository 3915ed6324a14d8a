#include "bridge/options/mount_options.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/options/working_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

// "SRC>DST+w", as a mount was understood.
std::string Understood(const std::string& text) {
  const auto mount = ParseMount(text);
  EXPECT_THAT(mount.status(), IsOk()) << text;
  return mount.ok() ? absl::StrCat(mount->source(), ">", mount->target(),
                                   mount->writable() ? "+w" : "")
                    : "";
}

TEST(MountOptionsTest, AMountIsReadOnlyUnlessItSaysOtherwise) {
  EXPECT_EQ(Understood("/none/a"), "/none/a>");
  EXPECT_EQ(Understood("/none/a:ro"), "/none/a>");
  EXPECT_EQ(Understood("/none/a:rw"), "/none/a>+w");
  EXPECT_EQ(Understood("/none/a:/b"), "/none/a>/b");
  EXPECT_EQ(Understood("/none/a:/b:ro"), "/none/a>/b");
  EXPECT_EQ(Understood("/none/a/:/b/:rw"), "/none/a>/b/+w");
}

TEST(MountOptionsTest, TheSourceMayBeRelativeOrALink) {
  std::string directory = "/tmp/mounts_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::filesystem::create_directory(directory + "/real");
  std::filesystem::create_directory_symlink("real", directory + "/link");
  EXPECT_EQ(Understood(directory + "/link"), directory + "/real>");
  EXPECT_EQ(Understood("none/x"),
            absl::StrCat(CurrentDirectory().value(), "/none/x>"));
  std::filesystem::remove_all(directory);
}

TEST(MountOptionsTest, RefusesWhatIsNoMount) {
  for (const char* bad : {"", ":/b", "/a:b", "/a:/b:/c", "/a:/b:wr",
                          "/a:", "/a:/b:ro:rw", "/a:rw:/b"}) {
    EXPECT_THAT(ParseMount(bad).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("allowed is SRC[:DST][:ro|rw]")))
        << bad;
  }
  EXPECT_THAT(ParseMount("/none/../a").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("..")));
}

TEST(MountOptionsTest, OptionsAddMountsAndTheHome) {
  corral::v1::Sandbox sandbox;
  OptionTable table("test", "", "");
  AddMountOptions(table, sandbox);
  EXPECT_THAT(table
                  .Parse({"--mount", "/none/a", "--home", "/none/home",
                          "--mount=/none/b:/c:rw"})
                  .status(),
              IsOk());
  ASSERT_EQ(sandbox.mounts_size(), 3);
  EXPECT_EQ(sandbox.mounts(0).source(), "/none/a");
  EXPECT_EQ(sandbox.mounts(1).source(), "/none/home");
  EXPECT_EQ(sandbox.mounts(1).target(), "/home/corral");
  EXPECT_TRUE(sandbox.mounts(1).writable());
  EXPECT_EQ(sandbox.mounts(2).target(), "/c");
  EXPECT_THAT(table.Parse({"--home", ""}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("home")));
}

}  // namespace
}  // namespace bridge
