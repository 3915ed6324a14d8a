#include "server/api/host_directories.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;

absl::Status Check(const std::string& text) {
  corral::v1::Sandbox sandbox;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &sandbox))
      << text;
  return CheckHostDirectories("sandbox", sandbox);
}

// Why the sandbox is refused.
std::string Refusal(const std::string& text) {
  const absl::Status status = Check(text);
  EXPECT_EQ(ReasonOf(status), corral::v1::INVALID_FIELD) << text;
  return std::string(status.message());
}

TEST(HostDirectoriesTest, AMountNeedsNoWorkspaceAndNoTarget) {
  EXPECT_THAT(Check("mounts { source: '/opt/tool' }"), IsOk());
  EXPECT_THAT(Check("mounts { source: '/opt/tool/' target: '/opt/other/' }"
                    "mounts { source: '/srv' target: '/home/corral' "
                    "writable: true }"),
              IsOk());
}

TEST(HostDirectoriesTest, AMountAppearsAtItsTargetOrElseAtItsSource) {
  corral::v1::Mount mount;
  mount.set_source("/opt/tool//");
  EXPECT_EQ(TargetOf(mount), "/opt/tool");
  mount.set_target("/x/");
  EXPECT_EQ(TargetOf(mount), "/x");
}

TEST(HostDirectoriesTest, TheSourceOfAMountIsAnAbsoluteNormalPath) {
  for (const char* bad :
       {"", "opt", "/", "/opt/../etc", "/opt/.", "/opt//x", "/opt\\0x", "/proc",
        "/proc/1/root", "/sys", "/dev/shm", "/dev/", "/etc", "/etc/ssl"}) {
    EXPECT_THAT(
        Refusal(absl::StrCat("mounts { source: '/srv' } mounts { source: '",
                             bad, "' target: '/x' }")),
        HasSubstr("sandbox.mounts[1].source is "))
        << bad;
  }
}

TEST(HostDirectoriesTest, ATargetCoversNothingThatASandboxNeeds) {
  for (const char* bad :
       {"x",        "/",          "/a/../usr",  "/usr",     "/usr/",
        "/usr/bin", "/usr/local", "/bin",       "/sbin",    "/lib",
        "/lib32/x", "/lib64",     "/libx32",    "/etc",     "/etc/passwd",
        "/dev",     "/dev/shm",   "/proc/self", "/sys",     "/home",
        "/run",     "/tmp",       "/var",       "/var/tmp", "/var/run",
        "/tmp/",    "/var/run/x", "/a/./b",     "//x"}) {
    EXPECT_THAT(
        Refusal(absl::StrCat("mounts { source: '/srv' target: '", bad, "' }")),
        HasSubstr("sandbox.mounts[0].target is "))
        << bad;
  }
  for (const char* good : {"/tmp/x", "/run/x", "/var/lib/x", "/home/me", "/x",
                           "/usrx", "/home/corral", "/root"}) {
    EXPECT_THAT(
        Check(absl::StrCat("mounts { source: '/srv' target: '", good, "' }")),
        IsOk())
        << good;
  }
}

TEST(HostDirectoriesTest, ASourceThatIsItsOwnTargetMustBeAPlaceForOne) {
  EXPECT_THAT(Refusal("mounts { source: '/usr/src' }"),
              HasSubstr("sandbox.mounts[0].target is \"/usr/src\"; allowed: a "
                        "place that covers nothing that a sandbox needs"));
  EXPECT_THAT(Check("mounts { source: '/usr/src' target: '/src' }"), IsOk());
}

TEST(HostDirectoriesTest, TargetsAreNotInsideOfEachOtherOrOfWorkspaces) {
  for (const char* bad : {"/w", "/w/", "/w/in", "/f/x", "/f/x/y", "/f", "/m/x",
                          "/m/x/in", "/m"}) {
    EXPECT_THAT(Refusal(absl::StrCat("workspace { path: '/w' }"
                                     "further_workspaces { path: '/f/x' }"
                                     "mounts { source: '/s' target: '/m/x' }"
                                     "mounts { source: '/s' target: '",
                                     bad, "' }")),
                HasSubstr("sandbox.mounts[1].target is "))
        << bad;
  }
  EXPECT_THAT(Check("workspace { path: '/w' }"
                    "mounts { source: '/w' target: '/again' }"
                    "mounts { source: '/w/in' target: '/w2' }"),
              IsOk());
}

TEST(HostDirectoriesTest, SlashesAtTheEndOfAPathDoNotCount) {
  EXPECT_THAT(Refusal("workspace { path: '/w/' }"
                      "mounts { source: '/s' target: '/w/in' }"),
              HasSubstr("sandbox.mounts[0].target is "));
  for (const char* around : {"/f", "/f/", "/f/in/"}) {
    EXPECT_THAT(Refusal(absl::StrCat("workspace { path: '/w' }"
                                     "further_workspaces { path: '/f/in/' }"
                                     "further_workspaces { path: '",
                                     around, "' }")),
                HasSubstr("sandbox.further_workspaces[1].path is "))
        << around;
  }
  EXPECT_THAT(Refusal("workspace { path: '/w' }"
                      "further_workspaces { path: '/f/' }"
                      "mounts { source: '/s' target: '/f/in' }"),
              HasSubstr("sandbox.mounts[0].target is "));
  EXPECT_THAT(Refusal("workspace { path: '/dev/' }"),
              HasSubstr("sandbox.workspace.path is \"/dev\";"));
  EXPECT_THAT(Refusal("mounts { source: '/' }"),
              HasSubstr("a directory below the root"));
}

TEST(HostDirectoriesTest, ASandboxHasSixteenMountsAtMost) {
  std::string mounts;
  for (int i = 0; i < 16; ++i) {
    absl::StrAppend(&mounts, "mounts { source: '/a", i, "' }");
  }
  EXPECT_THAT(Check(mounts), IsOk());
  EXPECT_THAT(Refusal(mounts + "mounts { source: '/b' }"),
              HasSubstr("sandbox.mounts is \"17\"; allowed: at most 16"));
}

TEST(HostDirectoriesTest, PathsHaveTheLengthOfTheKernelsAtMost) {
  const std::string longest = std::string(4094, 'a');
  EXPECT_THAT(CheckPath("f", "/" + longest), IsOk());
  EXPECT_THAT(std::string(CheckPath("f", "/a" + longest).message()),
              HasSubstr("at most 4095 bytes"));
}

}  // namespace
}  // namespace server
