// Real sandboxes on a full disk, and how much of a disk their output takes.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/storage_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

constexpr uint64_t kMiB = uint64_t{1} << 20;
// 2,888,896 bytes.
constexpr const char* kNumbers = "seq 1 431000";

std::string Numbers() {
  std::string text;
  for (int i = 1; i <= 431000; ++i) {
    absl::StrAppend(&text, i, "\n");
  }
  return text;
}

TEST_F(StorageTest, ACommandWaitsUntilTheDiskTakesItsOutput) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  for (const auto overflow :
       {wire::CommandSpec::DROP_OLDEST, wire::CommandSpec::BLOCK,
        wire::CommandSpec::HEAD_AND_TAIL}) {
    const std::string id = absl::StrCat("e", overflow);
    ASSERT_THAT(sandbox_.Start(Shell(id, kNumbers, overflow, 8 * kMiB)),
                IsOk());
    EXPECT_THAT(sandbox_.recorder().WaitForStorage(true), HasSubstr("output"));
    EXPECT_FALSE(sandbox_.recorder().Ended(id));
    ASSERT_NO_FATAL_FAILURE(Resize("size=8m"));
    const wire::ExecutionRecord end = sandbox_.WaitForEnd(id);
    EXPECT_EQ(end.exit().wait_status(), 0);
    EXPECT_EQ(end.exit().cause(), wire::ExitRecord::NORMAL);
    EXPECT_EQ(sandbox_.recorder().WaitForStorage(false), "");
    EXPECT_EQ(Read(id, 0, 8 * kMiB), Numbers());
    EXPECT_THAT(sandbox_.DeleteExecution(id), IsOk());
    ASSERT_NO_FATAL_FAILURE(Resize("size=1m"));
  }
}

TEST_F(StorageTest, AFullDiskKillsACommandWithThePolicyKill) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  const wire::ExecutionRecord end =
      sandbox_.Run(Shell("e1", kNumbers, wire::CommandSpec::KILL, 8 * kMiB));
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::OUTPUT_FAILED);
  const std::string kept = Read("e1", 0, kMiB);
  EXPECT_GT(kept.size(), kMiB / 2);
  EXPECT_EQ(kept, Numbers().substr(0, kept.size()));
  ASSERT_NO_FATAL_FAILURE(Resize("size=8m"));
  EXPECT_EQ(sandbox_.recorder().WaitForStorage(false), "");
  EXPECT_TRUE(HasEnd("e1"));
}

TEST_F(StorageTest, AKillEndsAnExecutionThatOnlyTheDiskHoldsBack) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  constexpr int64_t kNever = -1;
  for (const int64_t kill_after_ns : {kNever, int64_t{0}}) {
    const std::string id = absl::StrCat("e", kill_after_ns);
    ASSERT_NO_FATAL_FAILURE(StartRefused(id));
    EXPECT_THAT(
        Signal(id, SIGTERM, wire::Signal::TREE, kNever),
        FailsWith(wire::Reply::EXECUTION_ENDED, HasSubstr("runs any more")));
    EXPECT_THAT(Signal(id, kill_after_ns == kNever ? SIGKILL : SIGTERM,
                       wire::Signal::TREE, kill_after_ns),
                IsOk());
    const wire::ExecutionRecord end = sandbox_.WaitForEnd(id);
    EXPECT_EQ(WEXITSTATUS(end.exit().wait_status()), 3);
    EXPECT_EQ(end.exit().cause(), wire::ExitRecord::OUTPUT_FAILED);
    EXPECT_TRUE(end.exit().output_open());
    Free();
    EXPECT_EQ(sandbox_.recorder().WaitForStorage(false), "");
    EXPECT_EQ(sandbox_.Output(id, "stdout"), "last\n") << "late, but kept";
  }
}

TEST_F(StorageTest, AFullDiskDoesNotHoldBackTheEndOfAKilledCommand) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  wire::StartExecution start =
      Shell("e1", kNumbers, wire::CommandSpec::BLOCK, 8 * kMiB);
  start.mutable_command()->set_drain_ns(0);
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  EXPECT_THAT(sandbox_.recorder().WaitForStorage(true), HasSubstr("output"));
  EXPECT_THAT(Signal("e1", SIGKILL, wire::Signal::TREE, -1), IsOk());
  const wire::ExecutionRecord end = sandbox_.WaitForEnd("e1");
  EXPECT_EQ(end.exit().wait_status(), SIGKILL);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::CLIENT_SIGNAL);
  EXPECT_TRUE(end.exit().output_open());
}

TEST_F(StorageTest, ADeletionReportsThatOutputWasRefused) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  ASSERT_NO_FATAL_FAILURE(StartRefused("e1"));
  EXPECT_THAT(sandbox_.Delete(), IsOk());
  const wire::ExecutionRecord end = sandbox_.WaitForEnd("e1");
  EXPECT_EQ(WEXITSTATUS(end.exit().wait_status()), 3);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::OUTPUT_FAILED);
  EXPECT_FALSE(end.exit().output_open());
}

TEST_F(StorageTest, ReportsTheOutputLimitAlsoIfTheCommandEndedBeforeItsKill) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  // The pipe has room for what the log does not keep.
  const wire::ExecutionRecord end = sandbox_.Run(Shell(
      "e1", "head -c 100000 /dev/zero", wire::CommandSpec::KILL, kMiB / 16));
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::OUTPUT_LIMIT);
  EXPECT_EQ(State("e1").end, kMiB / 16);
}

TEST_F(StorageTest, StartsNothingThatCannotBeRecorded) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  Fill();
  const std::string touch =
      absl::StrCat("touch ", sandbox_.workspace(), "/started");
  EXPECT_THAT(sandbox_.Start(sandbox_.Shell("e1", touch)),
              FailsWith(wire::Reply::STORAGE, HasSubstr("No space")));
  EXPECT_THAT(sandbox_.recorder().WaitForStorage(true), HasSubstr("files"));
  EXPECT_FALSE(std::filesystem::exists(disk_ + "/e1"));
  Free();
  EXPECT_EQ(sandbox_.recorder().WaitForStorage(false), "");
  EXPECT_FALSE(std::filesystem::exists(sandbox_.workspace() + "/started"));
  EXPECT_EQ(sandbox_.Run(sandbox_.Shell("e1", touch)).exit().wait_status(), 0);
  EXPECT_TRUE(std::filesystem::exists(sandbox_.workspace() + "/started"));
}

TEST_F(StorageTest, RecordsAnEndOnAFullDisk) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  ASSERT_THAT(sandbox_.Start(Reader("e1")), IsOk());
  Fill();
  CloseInput("e1");
  EXPECT_EQ(WEXITSTATUS(sandbox_.WaitForEnd("e1").exit().wait_status()), 3);
  EXPECT_TRUE(HasEnd("e1"));
}

TEST_F(StorageTest, ReportsAnEndOnlyWhenItIsRecorded) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  ASSERT_NO_FATAL_FAILURE(StartUnrecorded("e1"));
  Free();
  EXPECT_EQ(WEXITSTATUS(sandbox_.WaitForEnd("e1").exit().wait_status()), 3);
  EXPECT_TRUE(HasEnd("e1"));
  EXPECT_EQ(sandbox_.recorder().WaitForStorage(false), "");
}

TEST_F(StorageTest, AKillOrADeletionDoesNotWaitForARecord) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  ASSERT_NO_FATAL_FAILURE(StartUnrecorded("e1"));
  EXPECT_THAT(Signal("e1", SIGKILL, wire::Signal::TREE, -1), IsOk());
  EXPECT_EQ(WEXITSTATUS(sandbox_.WaitForEnd("e1").exit().wait_status()), 3);
  EXPECT_FALSE(HasEnd("e1"));
  Free();
  EXPECT_EQ(sandbox_.recorder().WaitForStorage(false), "");
  EXPECT_TRUE(HasEnd("e1")) << "late, but kept";
  ASSERT_NO_FATAL_FAILURE(StartUnrecorded("e2"));
  EXPECT_THAT(sandbox_.DeleteExecution("e2"), IsOk());
  EXPECT_EQ(WEXITSTATUS(sandbox_.WaitForEnd("e2").exit().wait_status()), 3);
  Free();
  ASSERT_NO_FATAL_FAILURE(StartUnrecorded("e3"));
  EXPECT_THAT(sandbox_.Delete(), IsOk());
  EXPECT_EQ(WEXITSTATUS(sandbox_.WaitForEnd("e3").exit().wait_status()), 3);
}

TEST_F(StorageTest, SurvivesALogHeaderThatCannotBeWritten) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer bears no jump out of a signal's handler";
#endif
  ASSERT_THAT(sandbox_.Create(), IsOk());
  wire::StartExecution start =
      sandbox_.Shell("e1", "echo one; read x; echo two; exit 3");
  start.mutable_command()->set_open_stdin(true);
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("e1", "stdout", "one"));
  // Does what a file system does that writes each page to a new place.
  const UniqueFd log(::open(FilePath("e1").c_str(), O_RDWR | O_CLOEXEC));
  char magic[8];
  ASSERT_EQ(::pread(log.get(), magic, sizeof(magic), 0), 8);
  ASSERT_EQ(::fallocate(log.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        0, 4096),
            0);
  Fill();
  CloseInput("e1");
  EXPECT_NE(sandbox_.recorder().WaitForStorage(true), "");
  EXPECT_FALSE(sandbox_.recorder().Ended("e1"));
  Free();
  ASSERT_EQ(::pwrite(log.get(), magic, sizeof(magic), 0), 8);
  EXPECT_EQ(WEXITSTATUS(sandbox_.WaitForEnd("e1").exit().wait_status()), 3);
  EXPECT_EQ(sandbox_.recorder().WaitForStorage(false), "");
  EXPECT_EQ(sandbox_.Output("e1", "stdout"), "one\ntwo\n");
}

TEST_F(StorageTest, ThePolicyKillEndsACommandThatWritesTooMuch) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  // A descendant is killed too, though it has a process group of its own.
  const wire::ExecutionRecord end = sandbox_.Run(Shell(
      "e1", absl::StrCat("setsid sleep 1000 & echo x >&2; ", kNumbers, "; yes"),
      wire::CommandSpec::KILL, kMiB / 4));
  EXPECT_EQ(end.exit().wait_status(), SIGKILL);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::OUTPUT_LIMIT);
  EXPECT_FALSE(end.exit().output_open());
  EXPECT_EQ(State("e1").end, kMiB / 4);
  EXPECT_EQ(Read("e1", 0, kMiB / 4), Numbers().substr(0, kMiB / 4));
  EXPECT_EQ(sandbox_.Output("e1", "stderr"), "x\n");
}

TEST_F(StorageTest, KeepsTheHeadAndTheTail) {
  ASSERT_THAT(sandbox_.Create(), IsOk());
  sandbox_.Run(
      Shell("e1", kNumbers, wire::CommandSpec::HEAD_AND_TAIL, kMiB / 4));
  const OutputLogState state = State("e1");
  const std::string all = Numbers();
  EXPECT_EQ(state.end, all.size());
  EXPECT_EQ(state.gap_begin, kMiB / 8);
  EXPECT_GT(state.gap_end, state.end - kMiB / 4);
  EXPECT_EQ(Read("e1", 0, kMiB), all.substr(0, kMiB / 8));
  EXPECT_EQ(Read("e1", state.gap_end, state.end), all.substr(state.gap_end));
  EXPECT_LE(DiskUse("e1"), kMiB / 2);
}

TEST_F(StorageTest, AllOutputOfASandboxStaysWithinItsQuota) {
  sandbox_.spec().set_output_bytes(kMiB);
  ASSERT_THAT(sandbox_.Create(), IsOk());
  ASSERT_NO_FATAL_FAILURE(Resize("size=16m"));
  const std::string some = "head -c 400000 /dev/zero";
  for (const char* id : {"e1", "e2", "e3"}) {
    sandbox_.Run(Shell(id, some, wire::CommandSpec::BLOCK, 8 * kMiB));
  }
  EXPECT_TRUE(State("e1").expired);
  EXPECT_LE(DiskUse("e1"), 8192u);
  EXPECT_FALSE(State("e2").expired);
  EXPECT_EQ(State("e3").begin, 0u);
  // A running command drops more of its own output when nothing else can be
  // dropped.
  sandbox_.Run(Shell("e4", kNumbers, wire::CommandSpec::DROP_OLDEST, 8 * kMiB));
  EXPECT_TRUE(State("e3").expired);
  const OutputLogState state = State("e4");
  EXPECT_GT(state.begin, 0u);
  EXPECT_EQ(Read("e4", state.begin, state.end), Numbers().substr(state.begin));
  EXPECT_LE(DiskUse("e4"), kMiB + kMiB / 8);
  EXPECT_EQ(
      sandbox_.Run(Shell("e5", kNumbers, wire::CommandSpec::KILL, 8 * kMiB))
          .exit()
          .cause(),
      wire::ExitRecord::OUTPUT_LIMIT);
  EXPECT_LE(DiskUse("e5"), kMiB + 8192);
}

}  // namespace
}  // namespace sandbox
