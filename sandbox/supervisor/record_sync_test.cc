#include "sandbox/supervisor/record_sync.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/supervisor/durable_execution.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/storage_status.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class RecordSyncTest : public ::testing::Test {
 protected:
  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/recordsXXXXXX";
    return ::mkdtemp(path.data());
  }
  // An execution that has written "text" and ended.
  ExecutionFiles MakeEnded(const std::string& id) {
    ExecutionFiles files = *ExecutionFiles::Create(parent_, id, false);
    wire::ExecutionRecord record;
    record.set_id(id);
    EXPECT_THAT(files.WriteStart(record), IsOk());
    OutputLogWriter log = files.TakeLog(wire::STDOUT);
    EXPECT_THAT(log.Append("text", 4), IsOk());
    log.Close();
    record.set_state(wire::ExecutionRecord::EXITED);
    end_ = SealRecord(record);
    EXPECT_THAT(files.WriteEnd(end_), IsOk());
    return files;
  }
  bool HasEnd(const std::string& id, const std::string& name = "exit.pb") {
    wire::ExecutionRecord record;
    return ReadRecord(parent_ + "/" + id + "/" + name, &record).ok() &&
           record.id() == id;
  }
  void Await(const std::function<bool()>& condition) {
    std::function<void()> look = [&] {
      if (condition()) {
        loop_->Stop();
      } else {
        loop_->After(absl::Milliseconds(2), look);
      }
    };
    look();
    loop_->Run();
  }

  const std::string parent_ = MakeDirectory();
  std::string end_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  std::vector<std::string> failures_;
  StorageStatus storage_{[this] { failures_.push_back(storage_.failure()); }};
};

TEST_F(RecordSyncTest, RenamesTheEndOnceItIsSynced) {
  RecordSync sync(loop_.get(), &storage_);
  for (int i = 0; i < 100; ++i) {
    const std::string id = "e" + std::to_string(i);
    const ExecutionFiles files = MakeEnded(id);
    sync.SyncStart(files.directory());
    sync.SyncEnd(files.directory(), end_);
    EXPECT_TRUE(HasEnd(id, "exit.pb.new"));
  }
  Await([&] {
    for (int i = 0; i < 100; ++i) {
      if (!HasEnd("e" + std::to_string(i))) {
        return false;
      }
    }
    return true;
  });
  EXPECT_THAT(failures_, ::testing::IsEmpty());
}

TEST_F(RecordSyncTest, TellsOfAFailureAndTriesAgain) {
  RecordSync sync(loop_.get(), &storage_);
  const ExecutionFiles files = MakeEnded("e1");
  const std::string obstacle = files.directory() + "/exit.pb";
  ASSERT_EQ(::mkdir(obstacle.c_str(), 0700), 0);
  sync.SyncEnd(files.directory(), end_);
  Await([&] {
    if (failures_.size() == 1) {
      EXPECT_THAT(failures_[0], HasSubstr("rename"));
      ::rmdir(obstacle.c_str());
    }
    return failures_.size() == 2;
  });
  EXPECT_EQ(failures_[1], "");
  EXPECT_TRUE(HasEnd("e1"));
}

TEST_F(RecordSyncTest, LeavesAloneWhatIsDeleted) {
  RecordSync sync(loop_.get(), &storage_);
  ExecutionFiles deleted = MakeEnded("e1");
  const std::string directory = deleted.directory();
  sync.SyncEnd(directory, end_);
  sync.Cancel(directory);
  ASSERT_THAT(deleted.Remove(), IsOk());
  // Another one gets its name, and has no end yet.
  const ExecutionFiles again = *ExecutionFiles::Create(parent_, "e1", false);
  const ExecutionFiles other = MakeEnded("e2");
  sync.SyncEnd(other.directory(), end_);
  Await([&] { return HasEnd("e2"); });
  EXPECT_FALSE(std::filesystem::exists(directory + "/exit.pb"));
  EXPECT_THAT(failures_, ::testing::IsEmpty());
}

TEST_F(RecordSyncTest, EndsWithoutWaitingForItsWork) {
  auto sync = std::make_unique<RecordSync>(loop_.get(), &storage_);
  const ExecutionFiles first = MakeEnded("e1");
  sync->SyncEnd(first.directory(), end_);
  Await([&] { return HasEnd("e1"); });
  const ExecutionFiles second = MakeEnded("e2");
  sync->SyncEnd(second.directory(), end_);
  sync.reset();
  EXPECT_TRUE(HasEnd("e2", "exit.pb.new"));
}

TEST_F(RecordSyncTest, StopsAtEachStepThatFails) {
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
    // All of it once more, after a last step that failed.
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

TEST_F(RecordSyncTest, RewritesALogWithoutFillingItsHoles) {
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

TEST_F(RecordSyncTest, RewritesALongRecordToItsEnd) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1", false);
  wire::ExecutionRecord start;
  start.mutable_command()->set_original(std::string(1 << 20, 'x'));
  ASSERT_THAT(files.WriteStart(start), IsOk());
  const DurableExecution durable = *DurableExecution::Open(files.directory());
  // Nothing can be written beyond.
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

TEST_F(RecordSyncTest, TakesAWriteThatIsCutShortForAFailure) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1", false);
  wire::ExecutionRecord start;
  start.mutable_command()->set_original(std::string(1 << 20, 'x'));
  ASSERT_THAT(files.WriteStart(start), IsOk());
  const DurableExecution durable = *DurableExecution::Open(files.directory());
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  // Within the last that is written.
  const rlimit limit = {(1 << 20) + 4, unlimited.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  errno = 0;
  const absl::Status limited = durable.SyncFiles("", /*rewrite=*/true);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_THAT(limited.ToString(), HasSubstr("rewrite"));
  EXPECT_THAT(durable.SyncFiles("", /*rewrite=*/true), IsOk());
}

TEST_F(RecordSyncTest, WritesTheEndWhenTheDiskLetsIt) {
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
