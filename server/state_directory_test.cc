#include "server/state_directory.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/record_file.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::tests::IsOk;
using ::tests::StatusIs;
namespace wire = ::corral::supervisor::v1;

class StateDirectoryTest : public ::testing::Test {
 protected:
  StateDirectoryTest()
      : path_(absl::StrCat(
            ::testing::TempDir(), "/state_",
            ::testing::UnitTest::GetInstance()->current_test_info()->name())),
        state_(StateDirectory::Open(path_).value()) {}
  ~StateDirectoryTest() override { std::filesystem::remove_all(path_); }

  wire::SandboxSpec WriteSpec(const std::string& id) {
    wire::SandboxSpec spec;
    spec.set_id(id);
    spec.set_directory(state_->SandboxPath(id));
    EXPECT_THAT(state_->WriteSpec(spec), IsOk());
    return spec;
  }

  void WriteRecord(const std::string& sandbox, const std::string& execution,
                   const std::string& file,
                   const wire::ExecutionRecord& record) {
    const std::string path =
        StateDirectory::ExecutionPath(state_->SandboxPath(sandbox), execution);
    std::filesystem::create_directories(path);
    std::ofstream(absl::StrCat(path, "/", file)) << sandbox::SealRecord(record);
  }

  const std::string path_;
  std::unique_ptr<StateDirectory> state_;
};

TEST_F(StateDirectoryTest, IsForItsOwnerAlone) {
  struct stat info = {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
}

TEST_F(StateDirectoryTest, IsNeverSharedByTwoServers) {
  EXPECT_THAT(StateDirectory::Open(path_).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path_)));
  state_.reset();
  EXPECT_THAT(StateDirectory::Open(path_).status(), IsOk());
}

TEST_F(StateDirectoryTest, ReadsTheSpecThatItWrote) {
  const wire::SandboxSpec spec = WriteSpec("box");
  EXPECT_THAT(state_->ListSandboxes(), ElementsAre("box"));
  EXPECT_EQ(state_->ReadSpec("box").value().directory(), spec.directory());
  EXPECT_THAT(StateDirectory::Remove(state_->SandboxPath("box")), IsOk());
  EXPECT_FALSE(state_->ReadSpec("box").ok());
}

TEST_F(StateDirectoryTest, AnEndCompletesItsStart) {
  WriteSpec("box");
  wire::ExecutionRecord start;
  start.set_id("job");
  start.mutable_command()->add_argv("true");
  WriteRecord("box", "job", "start.pb", start);
  EXPECT_EQ(
      StateDirectory::ReadRecords(state_->SandboxPath("box")).at(0).state(),
      wire::ExecutionRecord::STARTING);

  wire::ExecutionRecord end;
  end.set_id("job");
  end.set_state(wire::ExecutionRecord::EXITED);
  end.mutable_exit()->set_wait_status(256);
  WriteRecord("box", "job", "exit.pb", end);
  const std::vector<wire::ExecutionRecord> records =
      StateDirectory::ReadRecords(state_->SandboxPath("box"));
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(records[0].command().argv(0), "true");
}

TEST_F(StateDirectoryTest, ATornEndIsNone) {
  WriteSpec("box");
  wire::ExecutionRecord start;
  start.set_id("job");
  WriteRecord("box", "job", "start.pb", start);
  wire::ExecutionRecord end;
  WriteRecord("box", "job", "exit.pb", end);
  EXPECT_EQ(
      StateDirectory::ReadRecords(state_->SandboxPath("box")).at(0).state(),
      wire::ExecutionRecord::STARTING);
  // All that came before the message that says how.
  end.set_id("job");
  end.set_state(wire::ExecutionRecord::EXITED);
  WriteRecord("box", "job", "exit.pb", end);
  EXPECT_EQ(
      StateDirectory::ReadRecords(state_->SandboxPath("box")).at(0).state(),
      wire::ExecutionRecord::STARTING);
}

TEST_F(StateDirectoryTest, WhatHasNoReadableStartNeverBegan) {
  WriteSpec("box");
  WriteRecord("box", "job", "exit.pb", wire::ExecutionRecord());
  wire::ExecutionRecord other;
  other.set_id("other");
  WriteRecord("box", "torn", "start.pb", other);
  EXPECT_THAT(StateDirectory::ReadRecords(state_->SandboxPath("box")),
              SizeIs(0));
}

}  // namespace
}  // namespace server
