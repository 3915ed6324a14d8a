#include "sandbox/supervisor/durable_execution.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/supervisor/ended_execution_fixture.h"
#include "sandbox/supervisor/execution_files.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

using DurableExecutionTest = EndedExecutionFixture;

TEST_F(DurableExecutionTest, StopsAtEachStepThatFails) {
  for (const int call : {SYS_openat, SYS_fsync, SYS_fdatasync, SYS_renameat}) {
    const std::string id = "e" + std::to_string(call);
    const ExecutionFiles files = MakeEnded(id);
    absl::StatusOr<DurableExecution> durable =
        DurableExecution::Open(files.directory());
    ASSERT_THAT(durable.status(), IsOk());
    absl::Status status;
    ASSERT_TRUE(tests::WithFailingCalls({call}, EIO, [&] {
      status = durable->SyncFiles(end_, /*rewrite=*/false);
      if (status.ok()) {
        status = durable->Publish();
      }
    }));
    EXPECT_FALSE(status.ok()) << call;
    EXPECT_FALSE(HasEnd(id));
    ASSERT_TRUE(tests::WithFailingCalls({SYS_fsync}, EIO, [&] {
      EXPECT_FALSE(durable->SyncDirectory().ok());
    }));
    EXPECT_THAT(durable->SyncFiles(end_, /*rewrite=*/true), IsOk());
    EXPECT_THAT(durable->Publish(), IsOk());
    EXPECT_THAT(durable->SyncDirectory(), IsOk());
    EXPECT_TRUE(HasEnd(id));
    // All steps once more, as after a last step that failed.
    EXPECT_THAT(durable->SyncFiles(end_, /*rewrite=*/true), IsOk());
    EXPECT_THAT(durable->Publish(), IsOk());
    EXPECT_TRUE(HasEnd(id));
    char text[8];
    EXPECT_EQ(*OutputLogReader::Open(files.LogPath(wire::STDOUT))
                   ->Read(0, text, sizeof(text)),
              4u);
    EXPECT_EQ(std::string(text, 4), "text");
  }
}

TEST_F(DurableExecutionTest, RewritesALogWithoutFillingItsHoles) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1", false);
  ASSERT_THAT(files.WriteStart(wire::ExecutionRecord()), IsOk());
  OutputLogWriter log = files.TakeLog(wire::STDOUT);
  log.SetRetention(1 << 20, Overflow::kHeadAndTail);
  std::string block(1 << 20, 'x');
  for (int i = 0; i < 8; ++i) {
    block.back() = static_cast<char>('0' + i);
    ASSERT_THAT(log.Append(block.data(), block.size()), IsOk());
  }
  ASSERT_THAT(files.WriteEnd("end"), IsOk());
  struct stat before;
  ASSERT_EQ(::stat(files.LogPath(wire::STDOUT).c_str(), &before), 0);
  ASSERT_THAT(DurableExecution::Open(files.directory())
                  ->SyncFiles("end", /*rewrite=*/true),
              IsOk());
  struct stat after;
  ASSERT_EQ(::stat(files.LogPath(wire::STDOUT).c_str(), &after), 0);
  EXPECT_LE(after.st_blocks, before.st_blocks + 16);
  char last;
  ASSERT_EQ(*OutputLogReader::Open(files.LogPath(wire::STDOUT))
                 ->Read((8 << 20) - 1, &last, 1),
            1u);
  EXPECT_EQ(last, '7');
}

TEST_F(DurableExecutionTest, RewritesALongRecordToItsEnd) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1", false);
  wire::ExecutionRecord start;
  start.mutable_command()->set_original(std::string(1 << 20, 'x'));
  ASSERT_THAT(files.WriteStart(start), IsOk());
  const DurableExecution durable = *DurableExecution::Open(files.directory());
  // Nothing can be written beyond this size.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit limit = {1 << 19, unlimited.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status limited = durable.SyncFiles("", /*rewrite=*/true);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_THAT(limited.ToString(), HasSubstr("rewrite"));
  EXPECT_THAT(durable.SyncFiles("", /*rewrite=*/true), IsOk());
  wire::ExecutionRecord read;
  EXPECT_THAT(ReadRecord(files.directory() + "/start.pb", &read), IsOk());
  EXPECT_EQ(read.command().original(), start.command().original());
}

TEST_F(DurableExecutionTest, ReportsAWriteThatIsCutShort) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1", false);
  wire::ExecutionRecord start;
  start.mutable_command()->set_original(std::string(1 << 20, 'x'));
  ASSERT_THAT(files.WriteStart(start), IsOk());
  const DurableExecution durable = *DurableExecution::Open(files.directory());
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  // In the middle of the last write.
  const rlimit limit = {(1 << 20) + 4, unlimited.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  errno = 0;
  const absl::Status limited = durable.SyncFiles("", /*rewrite=*/true);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_THAT(limited.ToString(), HasSubstr("rewrite"));
  EXPECT_THAT(durable.SyncFiles("", /*rewrite=*/true), IsOk());
}

TEST_F(DurableExecutionTest,
       AnEndThatTheDiskRefusedCanBeWrittenAndRemovedLater) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1", false);
  absl::Status written;
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_pwrite64}, ENOSPC, [&] { written = files.WriteEnd("end"); }));
  EXPECT_THAT(written, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("exit.pb.new")));
  EXPECT_THAT(files.WriteEnd("end"), IsOk());
  absl::Status removed;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_unlink}, EROFS,
                                      [&] { removed = files.Remove(); }));
  EXPECT_FALSE(removed.ok());
  EXPECT_THAT(files.Remove(), IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(parent_));
}

}  // namespace
}  // namespace sandbox
