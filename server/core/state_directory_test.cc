#include "server/core/state_directory.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/record_file.h"
#include "server/core/directories.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
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

  // In the directory of the sandbox "box".
  void WriteFile(const std::string& name, const std::string& content) {
    std::ofstream(absl::StrCat(state_->SandboxPath("box"), "/", name),
                  std::ios::binary)
        << content;
  }

  const std::string path_;
  std::unique_ptr<StateDirectory> state_;
};

TEST_F(StateDirectoryTest, SpreadsSandboxesOverTheDisk) {
  const sandbox::UniqueFd sandboxes(
      ::open(absl::StrCat(path_, "/sandboxes").c_str(), O_RDONLY | O_CLOEXEC));
  int flags = 0;
  if (::ioctl(sandboxes.get(), FS_IOC_GETFLAGS, &flags) != 0) {
    GTEST_SKIP() << "this file system has no flags";
  }
  int topmost = flags | FS_TOPDIR_FL;
  if (::ioctl(sandboxes.get(), FS_IOC_SETFLAGS, &topmost) != 0) {
    GTEST_SKIP() << "this file system has no block groups";
  }
  EXPECT_NE(flags & FS_TOPDIR_FL, 0);
}

TEST_F(StateDirectoryTest, OnlyItsOwnerCanReadIt) {
  struct stat info = {};
  for (const char* directory : {"", "/sandboxes"}) {
    ASSERT_EQ(::stat((path_ + directory).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700);
  }
  ASSERT_EQ(::stat((path_ + "/lock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
}

TEST_F(StateDirectoryTest, FollowsNoLinkToItsLock) {
  state_.reset();
  std::filesystem::rename(path_ + "/lock", path_ + "/aside");
  std::filesystem::create_symlink(path_ + "/aside", path_ + "/lock");
  EXPECT_THAT(std::string(StateDirectory::Open(path_).status().message()),
              HasSubstr("open(" + path_ + "/lock)"));
}

TEST_F(StateDirectoryTest, KnowsTheBootOfTheHost) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot_id;
  ASSERT_TRUE(std::getline(file, boot_id));
  EXPECT_EQ(state_->boot_id(), boot_id);
}

TEST_F(StateDirectoryTest, RefusesASecondServer) {
  EXPECT_THAT(StateDirectory::Open(path_).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path_)));
  state_.reset();
  EXPECT_THAT(StateDirectory::Open(path_).status(), IsOk());
}

TEST_F(StateDirectoryTest, ReadsTheSpecThatItWrote) {
  const wire::SandboxSpec spec = WriteSpec("box");
  EXPECT_THAT(state_->ListSandboxes().value(), ElementsAre("box"));
  EXPECT_EQ(state_->ReadSpec("box").value().directory(), spec.directory());
  EXPECT_THAT(RemoveDirectory(state_->SandboxPath("box")), IsOk());
  EXPECT_FALSE(state_->ReadSpec("box").ok());
}

TEST_F(StateDirectoryTest, GivesASandboxADirectoryThatWasMadeAhead) {
  state_->PrepareForNext();
  const auto made = state_->ListSandboxes().value().size();
  EXPECT_GT(made, 0u);
  const std::string path = WriteSpec("box").directory();
  EXPECT_THAT(state_->ReadSpec("box").status(), IsOk());
  EXPECT_TRUE(StateDirectory::IsUnborn(path));
  EXPECT_EQ(state_->ListSandboxes().value().size(), made);
}

TEST_F(StateDirectoryTest, ReportsAnErrorWhenSandboxesCannotBeListed) {
  std::filesystem::remove_all(absl::StrCat(path_, "/sandboxes"));
  EXPECT_THAT(state_->ListSandboxes().status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("sandboxes")));
}

TEST_F(StateDirectoryTest, ReportsATornSpecAsDataLoss) {
  const std::string sealed = sandbox::SealRecord(WriteSpec("box"));
  for (size_t size = 0; size < sealed.size(); ++size) {
    WriteFile("spec.pb", sealed.substr(0, size));
    EXPECT_THAT(state_->ReadSpec("box").status(),
                StatusIs(absl::StatusCode::kDataLoss, _));
  }
  WriteFile("spec.pb", std::string(sealed.size(), '\0'));
  EXPECT_THAT(state_->ReadSpec("box").status(),
              StatusIs(absl::StatusCode::kDataLoss, _));
}

TEST_F(StateDirectoryTest, LeavesNothingOfASpecThatCannotBeWritten) {
  wire::SandboxSpec spec;
  spec.set_id("box");
  spec.set_directory(state_->SandboxPath("box"));
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  for (const rlim_t bytes : {0, 7}) {
    rlimit little = before;
    little.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &little);
    const absl::Status written = state_->WriteSpec(spec);
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(written.ok());
    EXPECT_THAT(state_->ListSandboxes().value(), SizeIs(0));
  }
  EXPECT_THAT(state_->WriteSpec(spec), IsOk());
  // Another's directory is not taken for what this call made.
  EXPECT_TRUE(absl::IsAlreadyExists(state_->WriteSpec(spec)));
  EXPECT_THAT(state_->ReadSpec("box").status(), IsOk());
}

TEST_F(StateDirectoryTest, SyncsASpecAndTheDirectoriesThatLeadToIt) {
  const wire::SandboxSpec spec = WriteSpec("box");
  EXPECT_THAT(state_->SyncSpec(spec), IsOk());
  absl::Status synced;
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_fsync}, EIO, [&] { synced = state_->SyncSpec(spec); }));
  EXPECT_THAT(std::string(synced.message()), HasSubstr("fsync"));
  // A link is not followed to sync what it leads to.
  std::filesystem::rename(path_ + "/sandboxes", path_ + "/aside");
  std::filesystem::create_directory_symlink(path_ + "/aside",
                                            path_ + "/sandboxes");
  EXPECT_THAT(state_->SyncSpec(spec), Not(IsOk()));
}

TEST_F(StateDirectoryTest, ASandboxIsUnusedWithoutASupervisorAndAnExecution) {
  const std::string path = WriteSpec("box").directory();
  EXPECT_TRUE(StateDirectory::IsUnused(path));
  // A supervisor that has ended leaves its socket, and what it made ahead.
  WriteFile("control.sock", "");
  WriteFile("executions/.spare-1", "");
  EXPECT_TRUE(StateDirectory::IsUnused(path));
  WriteFile("executions/e1", "");
  EXPECT_FALSE(StateDirectory::IsUnused(path));
}

TEST_F(StateDirectoryTest, WaitsForTheDiskOnlyWithADescription) {
  const wire::SandboxSpec spec = WriteSpec("box");
  absl::Status described;
  absl::Status deleted;
  absl::Status failed;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_fsync, SYS_fdatasync}, EIO, [&] {
    described = StateDirectory::ReplaceSpec(spec);
    deleted = StateDirectory::WriteDeletion(spec.directory(), {});
    failed = StateDirectory::WriteFailure(spec.directory(), {});
  }));
  EXPECT_THAT(described, Not(IsOk()));
  EXPECT_THAT(deleted, IsOk());
  EXPECT_THAT(failed, IsOk());
}

TEST_F(StateDirectoryTest, ReadsTheDeletionAndTheFailureThatItWrote) {
  const std::string path = WriteSpec("box").directory();
  EXPECT_FALSE(StateDirectory::ReadDeletion(path).has_value());
  EXPECT_FALSE(StateDirectory::ReadFailure(path).has_value());
  wire::DeleteSandbox deletion;
  deletion.set_cause(wire::ExitRecord::SERVER_SHUTDOWN);
  EXPECT_THAT(StateDirectory::WriteDeletion(path, deletion), IsOk());
  wire::SandboxEnd failure;
  failure.set_cause(wire::SandboxEnd::INIT_DIED);
  failure.set_message("init died");
  EXPECT_THAT(StateDirectory::WriteFailure(path, failure), IsOk());
  EXPECT_EQ(StateDirectory::ReadDeletion(path)->cause(),
            wire::ExitRecord::SERVER_SHUTDOWN);
  EXPECT_EQ(StateDirectory::ReadFailure(path)->SerializeAsString(),
            failure.SerializeAsString());
}

TEST_F(StateDirectoryTest, ASandboxIsNotUnbornIfItsExecutionsCannotBeListed) {
  const std::string path = WriteSpec("box").directory();
  EXPECT_TRUE(StateDirectory::IsUnborn(path));
  std::filesystem::remove(path + "/executions");
  WriteFile("executions", "no directory");
  EXPECT_FALSE(StateDirectory::IsUnborn(path));
}

TEST_F(StateDirectoryTest, RemovesNoSandboxWhoseSupervisorListens) {
  const std::string path = WriteSpec("box").directory();
  EXPECT_TRUE(StateDirectory::IsUnborn(path));
  WriteFile("control.sock", "");
  EXPECT_FALSE(StateDirectory::IsUnborn(path));
  EXPECT_FALSE(StateDirectory::RemoveUnborn(path).ok());
  const std::string removed = RemovedPath(path);
  EXPECT_TRUE(std::filesystem::exists(removed + "/control.sock"));
  EXPECT_THAT(RemoveDirectory(removed), IsOk());
  EXPECT_THAT(state_->ListSandboxes().value(), SizeIs(0));
}

TEST_F(StateDirectoryTest, IsFreeForASuccessorOnceItIsUnlocked) {
  state_->Unlock();
  EXPECT_THAT(StateDirectory::Open(path_).status(), IsOk());
}

TEST_F(StateDirectoryTest, RefusesADescriptionOfAnotherSandbox) {
  wire::SandboxSpec spec = WriteSpec("box");
  spec.set_id("other");
  WriteFile("spec.pb", sandbox::SealRecord(spec));
  EXPECT_THAT(state_->ReadSpec("box").status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is of other")));
}

TEST_F(StateDirectoryTest, RemovesASandboxThatWasNeverMade) {
  const std::string path = WriteSpec("box").directory();
  std::filesystem::create_directories(path + "/executions/.ahead");
  EXPECT_THAT(StateDirectory::RemoveUnborn(path), IsOk());
  EXPECT_THAT(state_->ListSandboxes().value(), SizeIs(0));
  EXPECT_THAT(StateDirectory::RemoveUnborn(path), IsOk());
}

TEST_F(StateDirectoryTest, ASandboxThatHasAnExecutionIsNotUnborn) {
  const std::string path = WriteSpec("box").directory();
  std::filesystem::create_directories(path + "/executions/job");
  EXPECT_FALSE(StateDirectory::IsUnborn(path));
}

TEST_F(StateDirectoryTest, CannotBeMadeBelowAFile) {
  { std::ofstream file(path_ + "/file"); }
  EXPECT_THAT(StateDirectory::Open(path_ + "/file/a/b").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("mkdir(" + path_ + "/file/a/b)")));
}

TEST_F(StateDirectoryTest, NamesTheDirectoryThatCannotBeMade) {
  EXPECT_THAT(
      std::string(StateDirectory::Open("/proc/corral").status().message()),
      HasSubstr("mkdir(/proc/corral)"));
}

}  // namespace
}  // namespace server
