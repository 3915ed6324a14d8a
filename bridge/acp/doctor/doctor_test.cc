#include "bridge/acp/doctor/doctor.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class DoctorTest : public ::testing::Test {
 protected:
  bool Examine() {
    lines_.clear();
    return bridge::Examine(checkup_, [this](absl::string_view line) {
      lines_.emplace_back(line);
    });
  }

  int code_ = 0;
  tests::FakeServer server_{
      [this](tests::FakeExecution& command) { command.SetExit(code_); }};
  Checkup checkup_ = {{server_.address()}, {}, {"sh"}, {"corral"}};
  std::vector<std::string> lines_;
};

TEST_F(DoctorTest, FindsThatAllIsWell) {
  checkup_.sandbox.mutable_workspace()->set_path("/w");
  EXPECT_TRUE(Examine());
  EXPECT_THAT(lines_, SizeIs(5));
  EXPECT_THAT(lines_, Each(StartsWith("ok    ")));
  EXPECT_THAT(lines_, Contains(HasSubstr("has access to /w")));
  EXPECT_THAT(server_.deletions(), SizeIs(1));
}

TEST_F(DoctorTest, SaysWhatToDoAboutAMissingAgent) {
  checkup_.agent = {"no-such-agent"};
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.front(),
              AllOf(StartsWith("FAIL  agent: no-such-agent is not in PATH"),
                    HasSubstr("absolute path")));
  checkup_.agent = {"/nonexistent/agent"};
  EXPECT_FALSE(Examine());
}

TEST_F(DoctorTest, SaysWhatToDoWithoutAServer) {
  checkup_.server.server = "unix:/nonexistent/socket";
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.back(), AllOf(StartsWith("FAIL  server: "),
                                   HasSubstr("unix:/nonexistent/socket"),
                                   HasSubstr("give --server")));
}

TEST_F(DoctorTest, SaysWhatToDoAboutAWorkspaceThatTheServerRefuses) {
  checkup_.sandbox.mutable_workspace()->set_path("relative");
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.back(),
              AllOf(StartsWith("FAIL  sandbox: "), HasSubstr("--map")));
}

TEST_F(DoctorTest, NoticesThatCommandsHaveNoAccessToTheWorkspace) {
  checkup_.sandbox.mutable_workspace()->set_path("/w");
  code_ = 1;
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.back(), StartsWith("FAIL  command: "));
  EXPECT_THAT(server_.deletions(), SizeIs(1));
}

}  // namespace
}  // namespace bridge
