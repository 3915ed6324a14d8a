#include "sandbox/supervisor/durable_execution.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/execution_layout.h"
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

// Returns what the log of standard output holds at `offset`.
std::string TextAt(const ExecutionFiles& files, uint64_t offset, size_t size) {
  std::string text(size, '\0');
  const auto got = OutputLogReader::Open(files.path(), wire::STDOUT)
                       ->Read(offset, text.data(), size);
  EXPECT_THAT(got.status(), IsOk());
  text.resize(got.value_or(0));
  return text;
}

// Writes the pages of an execution with the record `end` again, and nothing
// beyond `size` in any file.
absl::Status RewriteUpTo(const DurableExecution& durable, rlim_t size,
                         const std::string& end = "") {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited;
  EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit limit = {size, unlimited.rlim_max};
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  errno = 0;
  const absl::Status limited = durable.SyncFiles(end, /*rewrite=*/true);
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  return limited;
}

TEST_F(DurableExecutionTest, StopsAtEachStepThatFails) {
  for (const int call : {SYS_fdatasync, SYS_pwrite64}) {
    const std::string id = "e" + std::to_string(call);
    const ExecutionFiles files = MakeEnded(id);
    absl::StatusOr<DurableExecution> durable =
        DurableExecution::Open(files.path());
    ASSERT_THAT(durable.status(), IsOk());
    absl::Status status;
    ASSERT_TRUE(tests::WithFailingCalls({call}, EIO, [&] {
      status = durable->SyncFiles(end_, /*rewrite=*/false);
      if (status.ok()) {
        status = durable->Confirm();
      }
    }));
    EXPECT_FALSE(status.ok()) << call;
    EXPECT_FALSE(IsSynced(id));
    // All steps once more after the last one.
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(durable->SyncFiles(end_, /*rewrite=*/true), IsOk());
      EXPECT_THAT(durable->Confirm(), IsOk());
      EXPECT_TRUE(IsSynced(id));
      EXPECT_TRUE(HasEnd(id));
      EXPECT_EQ(TextAt(files, 0, 8), "text");
    }
  }
}

TEST_F(DurableExecutionTest, ReportsThatItsMarkIsNotSynced) {
  const ExecutionFiles files = MakeEnded("e1");
  const DurableExecution durable = *DurableExecution::Open(files.path());
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_fdatasync}, EIO, [&] { EXPECT_FALSE(durable.Confirm().ok()); }));
}

TEST_F(DurableExecutionTest, FailsIfTheNamesCannotBeSynced) {
  EXPECT_TRUE(absl::IsNotFound(OpenDirectory(parent_ + "/none").status()));
  const UniqueFd directory = *OpenDirectory(parent_);
  EXPECT_THAT(SyncNames(directory), IsOk());
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_fsync}, EIO, [&] { EXPECT_FALSE(SyncNames(directory).ok()); }));
}

TEST_F(DurableExecutionTest, NotesHowMuchOutputItHasSynced) {
  const ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  OutputLogWriter output = files.Log(wire::STDOUT);
  OutputLogWriter error = files.Log(wire::STDERR);
  ASSERT_THAT(output.Append("text", 4), IsOk());
  ASSERT_THAT(error.Append("errors", 6), IsOk());
  const DurableExecution durable = *DurableExecution::Open(files.path());
  // Not known to be on the disk.
  ASSERT_THAT(output.Append("later", 5), IsOk());
  ASSERT_THAT(durable.SyncFiles("end", /*rewrite=*/false), IsOk());
  ASSERT_THAT(durable.Confirm(), IsOk());
  std::ifstream file(files.path(), std::ios::binary);
  ExecutionHeader header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  EXPECT_EQ(header.synced.load(), 1u);
  EXPECT_EQ(header.synced_ends[kOutputPlace.number].load(), 4u);
  EXPECT_EQ(header.synced_ends[kErrorPlace.number].load(), 6u);
}

TEST_F(DurableExecutionTest, IsGoneIfAFileIsMissing) {
  EXPECT_TRUE(
      absl::IsNotFound(DurableExecution::Open(parent_ + "/none").status()));
  const ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  OutputLogWriter output = files.Log(wire::STDOUT);
  const std::string text(kOutputPlace.window_size + 1, 'x');
  ASSERT_THAT(output.Append(text.data(), text.size()), IsOk());
  std::filesystem::remove(files.path() + ".out");
  EXPECT_TRUE(absl::IsNotFound(DurableExecution::Open(files.path()).status()));
}

TEST_F(DurableExecutionTest, RefusesAFileWithoutItsHeaders) {
  const ExecutionFiles files = MakeEnded("e1");
  std::filesystem::resize_file(files.path(), 191);
  EXPECT_THAT(DurableExecution::Open(files.path()).status(),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("read ")));
}

TEST_F(DurableExecutionTest, WritesALostRecordOfTheEndAgain) {
  for (const size_t size : {kEndPlace.size, kEndPlace.size + 1}) {
    const ExecutionFiles files = MakeEnded("e1");
    wire::ExecutionRecord end;
    end.set_id("e1");
    while (SealRecord(end).size() < size) {
      end.mutable_command()->mutable_original()->push_back('x');
    }
    const UniqueFd file(::open(files.path().c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::pwrite(file.get(), "?", 1, kEndPlace.position), 1);
    EXPECT_FALSE(HasEnd("e1"));
    const DurableExecution durable = *DurableExecution::Open(files.path());
    EXPECT_THAT(durable.SyncFiles(SealRecord(end), /*rewrite=*/true), IsOk());
    EXPECT_TRUE(HasEnd("e1"));
    std::filesystem::remove(files.path());
  }
}

TEST_F(DurableExecutionTest, SaysWhatItCouldNotRewrite) {
  const ExecutionFiles files = MakeEnded("e1");
  const DurableExecution durable = *DurableExecution::Open(files.path());
  const std::pair<int, const char*> steps[] = {
      {SYS_pread64, "read what is to be rewritten"},
      {SYS_lseek, "find what is to be rewritten"},
      {SYS_pwrite64, "rewrite an execution"}};
  for (const auto& [call, step] : steps) {
    absl::Status rewritten;
    ASSERT_TRUE(tests::WithFailingCalls({call}, EIO, [&rewritten, &durable] {
      rewritten = durable.SyncFiles("end", /*rewrite=*/true);
    }));
    EXPECT_THAT(rewritten,
                StatusIs(absl::StatusCode::kUnknown, HasSubstr(step)));
  }
}

TEST_F(DurableExecutionTest, RewritesThePagesThatAreInUse) {
  const ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  const DurableExecution silent = *DurableExecution::Open(files.path());
  EXPECT_THAT(RewriteUpTo(silent, 0).ToString(), HasSubstr("rewrite"));
  EXPECT_THAT(RewriteUpTo(silent, kOutputPlace.window), IsOk());
  OutputLogWriter output = files.Log(wire::STDOUT);
  ASSERT_THAT(output.Append("text", 4), IsOk());
  const DurableExecution loud = *DurableExecution::Open(files.path());
  EXPECT_THAT(RewriteUpTo(loud, kOutputPlace.window).ToString(),
              HasSubstr("rewrite"));
  EXPECT_THAT(RewriteUpTo(loud, kOutputPlace.window + 1), IsOk());
}

TEST_F(DurableExecutionTest, SyncsTheFileBesideOnlyWithAnEnd) {
  const ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  OutputLogWriter error = files.Log(wire::STDERR);
  const std::string text(kErrorPlace.window_size + 1, 'x');
  ASSERT_THAT(error.Append(text.data(), text.size()), IsOk());
  // A FIFO cannot be synced.
  const std::string rest = files.path() + ".err";
  std::filesystem::remove(rest);
  ASSERT_EQ(::mkfifo(rest.c_str(), 0600), 0);
  const DurableExecution durable = *DurableExecution::Open(files.path());
  for (const bool rewrite : {false, true}) {
    EXPECT_THAT(durable.SyncFiles("", rewrite), IsOk());
    EXPECT_FALSE(durable.SyncFiles("end", rewrite).ok());
  }
}

TEST_F(DurableExecutionTest, RewritesALogWithoutFillingItsHoles) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  ASSERT_THAT(files.WriteStart(wire::ExecutionRecord()), IsOk());
  OutputLogWriter log = files.Log(wire::STDOUT);
  log.SetRetention(1 << 20, Overflow::kHeadAndTail);
  std::string block(1 << 20, 'x');
  for (int i = 0; i < 8; ++i) {
    block.back() = static_cast<char>('0' + i);
    ASSERT_THAT(log.Append(block.data(), block.size()), IsOk());
  }
  ASSERT_THAT(files.WriteEnd("end"), IsOk());
  const std::string rest = files.path() + ".out";
  struct stat before;
  ASSERT_EQ(::stat(rest.c_str(), &before), 0);
  ASSERT_THAT(
      DurableExecution::Open(files.path())->SyncFiles("end", /*rewrite=*/true),
      IsOk());
  struct stat after;
  ASSERT_EQ(::stat(rest.c_str(), &after), 0);
  EXPECT_LE(after.st_blocks, before.st_blocks + 16);
  EXPECT_EQ(TextAt(files, 0, 2), "xx");
  EXPECT_EQ(TextAt(files, (8 << 20) - 1, 1), "7");
}

TEST_F(DurableExecutionTest, RewritesALongRecordToItsEnd) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  wire::ExecutionRecord start;
  start.mutable_command()->set_original(std::string(1 << 20, 'x'));
  ASSERT_THAT(files.WriteStart(start), IsOk());
  const DurableExecution durable = *DurableExecution::Open(files.path());
  EXPECT_THAT(RewriteUpTo(durable, 1 << 19).ToString(), HasSubstr("rewrite"));
  EXPECT_THAT(durable.SyncFiles("", /*rewrite=*/true), IsOk());
  wire::ExecutionRecord read;
  EXPECT_THAT(ExecutionRecords::Open(files.path())->ReadStart(&read), IsOk());
  EXPECT_EQ(read.command().original(), start.command().original());
}

TEST_F(DurableExecutionTest, ReportsAWriteThatIsCutShort) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  wire::ExecutionRecord start;
  start.mutable_command()->set_original(std::string(1 << 20, 'x'));
  ASSERT_THAT(files.WriteStart(start), IsOk());
  const DurableExecution durable = *DurableExecution::Open(files.path());
  // In the middle of the last write.
  const rlim_t size = (1 << 20) + kStartPlace.long_position + 4;
  EXPECT_THAT(RewriteUpTo(durable, size).ToString(), HasSubstr("rewrite"));
  EXPECT_THAT(durable.SyncFiles("", /*rewrite=*/true), IsOk());
}

TEST_F(DurableExecutionTest,
       AnEndThatTheDiskRefusedCanBeWrittenAndRemovedLater) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  absl::Status written;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pwrite64}, ENOSPC, [&] {
    written = files.WriteEnd("end").status();
  }));
  EXPECT_THAT(written, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("record of the end")));
  EXPECT_THAT(files.WriteEnd("end"), IsOk());
  absl::Status removed;
  const wire::ExecutionRecord record;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_unlink}, EROFS,
                                      [&] { removed = files.Remove(record); }));
  EXPECT_FALSE(removed.ok());
  EXPECT_THAT(files.Remove(record), IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(parent_));
}

TEST_F(DurableExecutionTest, NeedsNoFileBesideForOutputThatFillsItsWindow) {
  const ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  const std::string text(kOutputPlace.window_size, 'x');
  OutputLogWriter output = files.Log(wire::STDOUT);
  ASSERT_THAT(output.Append(text.data(), text.size()), IsOk());
  OutputLogWriter error = files.Log(wire::STDERR);
  ASSERT_THAT(error.Append(text.data(), kErrorPlace.window_size), IsOk());
  EXPECT_THAT(DurableExecution::Open(files.path()).status(), IsOk());
}

TEST_F(DurableExecutionTest, RewritesTheFileBesideWithAnEnd) {
  const ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  const std::string text(1 << 20, 'x');
  OutputLogWriter error = files.Log(wire::STDERR);
  ASSERT_THAT(error.Append(text.data(), text.size()), IsOk());
  const DurableExecution durable = *DurableExecution::Open(files.path());
  EXPECT_THAT(RewriteUpTo(durable, 1 << 19), IsOk());
  EXPECT_THAT(RewriteUpTo(durable, 1 << 19, "end").ToString(),
              HasSubstr("rewrite"));
  EXPECT_THAT(RewriteUpTo(durable, 1 << 20, "end"), IsOk());
}

}  // namespace
}  // namespace sandbox
