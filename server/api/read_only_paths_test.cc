#include "server/api/read_only_paths.h"

#include <iterator>
#include <string>
#include <vector>

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

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::tests::IsOk;

corral::v1::Sandbox Parse(const std::string& text) {
  corral::v1::Sandbox sandbox;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &sandbox))
      << text;
  return sandbox;
}

absl::Status Check(const std::string& text) {
  return CheckReadOnlyPaths("sandbox", Parse(text));
}

// Why the sandbox is refused.
std::string Refusal(const std::string& text) {
  const absl::Status status = Check(text);
  EXPECT_EQ(ReasonOf(status), corral::v1::INVALID_FIELD) << text;
  return std::string(status.message());
}

std::vector<std::string> PathsOf(const std::string& text) {
  return ReadOnlyPathsOf(Parse(text).workspace());
}

TEST(ReadOnlyPathsTest, AreThoseOfTheRequestAndOfHostTools) {
  EXPECT_THAT(PathsOf(""), IsEmpty());
  EXPECT_THAT(PathsOf("workspace { read_only_paths: 'b' read_only_paths: 'a' "
                      "read_only_paths: 'b' }"),
              ElementsAre("a", "b"));
  EXPECT_THAT(PathsOf("workspace { protect_host_tools: true }"),
              ElementsAreArray(kHostToolPaths));
  const std::vector<std::string> both = PathsOf(
      "workspace { read_only_paths: 'a' read_only_paths: '.git/hooks' "
      "protect_host_tools: true }");
  EXPECT_THAT(both, SizeIs(std::size(kHostToolPaths) + 1));
  EXPECT_THAT(both, Contains("a"));
}

TEST(ReadOnlyPathsTest, AreRelativeNormalPaths) {
  EXPECT_THAT(Check("workspace { path: '/w' read_only_paths: '.git' "
                    "read_only_paths: 'a/b..c/...' read_only_paths: '\\377' }"),
              IsOk());
  for (const char* bad : {"", "/", "/a", "a/", "a//b", ".", "..", "a/.", "./a",
                          "../a", "a/../b", "a\\0b"}) {
    EXPECT_THAT(
        Refusal(absl::StrCat("workspace { path: '/w' read_only_paths: 'x' "
                             "read_only_paths: '",
                             bad, "' }")),
        HasSubstr("sandbox.workspace.read_only_paths[1] is "))
        << bad;
    EXPECT_THAT(
        Refusal(absl::StrCat("further_workspaces { path: '/f' } "
                             "further_workspaces { read_only_paths: '",
                             bad, "' }")),
        HasSubstr("sandbox.further_workspaces[1].read_only_paths[0] is "))
        << bad;
  }
}

TEST(ReadOnlyPathsTest, HaveALengthADepthAndANumber) {
  const auto one = [](const std::string& path) {
    return absl::StrCat("workspace { read_only_paths: '", path, "' }");
  };
  EXPECT_THAT(Check(one(std::string(255, 'a'))), IsOk());
  EXPECT_THAT(Refusal(one(std::string(256, 'a'))),
              HasSubstr("at most 255 bytes"));
  std::string deep = "a";
  for (int i = 1; i < 16; ++i) {
    absl::StrAppend(&deep, "/a");
  }
  EXPECT_THAT(Check(one(deep)), IsOk());
  EXPECT_THAT(Refusal(one(deep + "/a")), HasSubstr("at most 16 parts"));
  std::string many;
  for (size_t i = 0; i < 64 - std::size(kHostToolPaths); ++i) {
    absl::StrAppend(&many, "read_only_paths: 'p", i, "' ");
  }
  EXPECT_THAT(
      Check(absl::StrCat("workspace { protect_host_tools: true ", many, "}")),
      IsOk());
  EXPECT_THAT(Refusal(absl::StrCat("workspace { protect_host_tools: true ",
                                   many, "read_only_paths: 'x' }")),
              HasSubstr("sandbox.workspace.read_only_paths is \"65\"; allowed: "
                        "at most 64"));
}

TEST(ReadOnlyPathsTest, AreRefusedForProgramsThatCouldMoveThem) {
  EXPECT_THAT(
      Refusal("profile: NESTED workspace { read_only_paths: 'a' }"),
      HasSubstr("sandbox.workspace.read_only_paths is \"a\"; allowed: none "
                "with profile NESTED"));
  EXPECT_THAT(
      Refusal("profile: NESTED further_workspaces { protect_host_tools: true "
              "}"),
      HasSubstr("sandbox.further_workspaces[0].protect_host_tools is "
                "\"true\"; allowed: false with profile NESTED"));
  EXPECT_THAT(Check("profile: NESTED workspace { read_only: true "
                    "protect_host_tools: true }"),
              IsOk());
  EXPECT_THAT(Check("profile: NESTED workspace { path: '/w' }"), IsOk());
  EXPECT_THAT(Check("profile: DEBUG workspace { protect_host_tools: true }"),
              IsOk());
}

}  // namespace
}  // namespace server
