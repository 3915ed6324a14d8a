#include "sandbox/supervisor/spare_parts.h"

#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/supervisor/fake_command_group.h"
#include "sandbox/supervisor/storage_status.h"
#include "tests/failing_calls.h"
#include "tests/fakes/fake_timers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class SparePartsTest : public ::testing::Test {
 protected:
  SparePartsTest() {
    std::string path = ::testing::TempDir() + "/sparesXXXXXX";
    directory_ = ::mkdtemp(path.data());
    spares_->SetDirectory(directory_);
    spares_->SetGroups([this](const std::string& name)
                           -> absl::StatusOr<std::unique_ptr<CommandGroup>> {
      groups_ += name + " ";
      if (!group_error_.ok()) {
        return group_error_;
      }
      return std::make_unique<FakeCommandGroup>(&group_);
    });
  }
  // Entries of the directory.
  size_t Entries() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  std::string directory_;
  tests::FakeTimers timers_;
  StorageStatus storage_{[] {}};
  FakeCommandGroup::State group_;
  absl::Status group_error_;
  // The names of the groups that were made.
  std::string groups_;
  std::unique_ptr<SpareParts> spares_ =
      std::make_unique<SpareParts>(&timers_, &storage_);
};

TEST_F(SparePartsTest, TakesTheGroupThatWasMadeAheadOnce) {
  spares_->PrepareGroup();
  spares_->PrepareGroup();
  EXPECT_EQ(groups_, "e-0 ");
  EXPECT_THAT(spares_->TakeGroup().status(), IsOk());
  EXPECT_EQ(groups_, "e-0 ");
  EXPECT_THAT(spares_->TakeGroup().status(), IsOk());
  EXPECT_EQ(groups_, "e-0 e-1 ");
}

TEST_F(SparePartsTest, ReportsAGroupThatCannotBeMadeWhenItIsTaken) {
  group_error_ = absl::ResourceExhaustedError("cgroups");
  spares_->PrepareGroup();
  EXPECT_THAT(
      spares_->TakeGroup().status(),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("cgroups")));
  group_error_ = absl::OkStatus();
  EXPECT_THAT(spares_->TakeGroup().status(), IsOk());
}

TEST_F(SparePartsTest, UsesTheGroupOfAnEndedCommandAgain) {
  group_.recyclable = true;
  std::unique_ptr<CommandGroup> group = *spares_->TakeGroup();
  EXPECT_TRUE(spares_->GiveBack(group));
  EXPECT_EQ(group_.calls, "recycle ");
  EXPECT_THAT(spares_->TakeGroup().status(), IsOk());
  EXPECT_EQ(groups_, "e-0 ");
}

TEST_F(SparePartsTest, RemovesAGroupThatCannotBeUsedAgain) {
  std::unique_ptr<CommandGroup> group = *spares_->TakeGroup();
  EXPECT_TRUE(spares_->GiveBack(group));
  EXPECT_EQ(group_.calls, "remove ");
  EXPECT_EQ(group, nullptr);
}

TEST_F(SparePartsTest, TakesNoGroupBackInWhichAProcessLives) {
  group_.recyclable = true;
  std::unique_ptr<CommandGroup> group = *spares_->TakeGroup();
  group_.pids = {1};
  EXPECT_FALSE(spares_->GiveBack(group));
  EXPECT_NE(group, nullptr);
  EXPECT_EQ(group_.calls, "");
}

TEST_F(SparePartsTest, KeepsAFewGroupsOnly) {
  group_.recyclable = true;
  std::vector<std::unique_ptr<CommandGroup>> taken;
  for (int i = 0; i < 100; ++i) {
    taken.push_back(*spares_->TakeGroup());
  }
  for (std::unique_ptr<CommandGroup>& group : taken) {
    EXPECT_TRUE(spares_->GiveBack(group));
  }
  std::string calls;
  for (int i = 0; i < 100; ++i) {
    calls += i < 8 ? "recycle " : "remove ";
  }
  EXPECT_EQ(group_.calls, calls);
}

TEST_F(SparePartsTest, LimitsTheGroupThatWasMadeAhead) {
  CgroupLimits limits;
  limits.pids = 7;
  EXPECT_THAT(spares_->LimitGroups(limits), IsOk());
  EXPECT_EQ(group_.calls, "");
  spares_->PrepareGroup();
  EXPECT_THAT(spares_->LimitGroups(limits), IsOk());
  EXPECT_EQ(group_.calls, "limit ");
  EXPECT_EQ(group_.limits.pids, 7u);
  group_.limited = absl::UnknownError("memory.max");
  EXPECT_THAT(spares_->LimitGroups(limits),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("memory.max")));
}

TEST_F(SparePartsTest, RenamesTheFilesThatWereMadeAhead) {
  spares_->PrepareFiles();
  spares_->PrepareFiles();
  EXPECT_EQ(Entries(), 1u);
  absl::StatusOr<ExecutionFiles> files = spares_->TakeFiles("e1");
  ASSERT_THAT(files.status(), IsOk());
  EXPECT_EQ(files->path(), directory_ + "/e1");
  EXPECT_EQ(Entries(), 1u);
  EXPECT_THAT(spares_->TakeFiles("e2").status(), IsOk());
  EXPECT_EQ(Entries(), 2u);
}

TEST_F(SparePartsTest, KeepsTheFilesWhenTheIdIsTaken) {
  ASSERT_THAT(spares_->TakeFiles("e1").status(), IsOk());
  spares_->PrepareFiles();
  EXPECT_THAT(spares_->TakeFiles("e1").status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("e1")));
  EXPECT_THAT(spares_->TakeFiles("e2").status(), IsOk());
  EXPECT_EQ(Entries(), 2u);
}

TEST_F(SparePartsTest, ReportsADiskThatRefusesFilesAndTriesAgain) {
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pwrite64}, ENOSPC,
                                      [&] { spares_->PrepareFiles(); }));
  EXPECT_THAT(storage_.failure(), HasSubstr("files of executions"));
  EXPECT_EQ(Entries(), 0u);
  timers_.Advance(absl::Milliseconds(200));
  EXPECT_EQ(storage_.failure(), "");
  EXPECT_EQ(Entries(), 1u);
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(SparePartsTest, RemovesTheGroupAndMakesNothingAfterStop) {
  spares_->PrepareGroup();
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pwrite64}, ENOSPC,
                                      [&] { spares_->PrepareFiles(); }));
  spares_->Stop();
  EXPECT_EQ(group_.calls, "remove ");
  EXPECT_EQ(timers_.size(), 0u);
  spares_->PrepareGroup();
  spares_->PrepareFiles();
  EXPECT_EQ(groups_, "e-0 ");
  EXPECT_EQ(Entries(), 0u);
  spares_.reset();
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(SparePartsTest, RemovesAGroupThatComesBackAfterStop) {
  group_.recyclable = true;
  std::unique_ptr<CommandGroup> group = *spares_->TakeGroup();
  spares_->Stop();
  EXPECT_TRUE(spares_->GiveBack(group));
  EXPECT_EQ(group_.calls, "remove ");
}

}  // namespace
}  // namespace sandbox
