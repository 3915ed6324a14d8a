#include "sandbox/storage/execution_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/record_file.h"
#include "tests/failing_calls.h"
#include "tests/file_size_limit.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class ExecutionFileTest : public ::testing::Test {
 protected:
  ~ExecutionFileTest() override { std::filesystem::remove_all(directory_); }

  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/executionXXXXXX";
    return ::mkdtemp(path.data());
  }
  // A record that takes `size` bytes with its seal.
  static wire::ExecutionRecord RecordOf(const std::string& id, size_t size) {
    wire::ExecutionRecord record;
    record.set_id(id);
    std::string* filler = record.mutable_command()->mutable_original();
    filler->assign(size, 'x');
    while (SealRecord(record).size() > size) {
      filler->resize(filler->size() - (SealRecord(record).size() - size));
    }
    EXPECT_EQ(SealRecord(record).size(), size);
    return record;
  }
  uint64_t DiskUse() const {
    struct stat status;
    EXPECT_EQ(::stat(path_.c_str(), &status), 0);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }

  const std::string directory_ = MakeDirectory();
  const std::string path_ = directory_ + "/e1";
};

TEST_F(ExecutionFileTest, ReadsRecordsOfAnySizeBack) {
  const size_t sizes[] = {kStartPlace.size, kStartPlace.size + 1, 1 << 20};
  for (const size_t size : sizes) {
    for (const size_t end_size :
         {kEndPlace.size, kEndPlace.size + 1, kEndPlace.long_size}) {
      const wire::ExecutionRecord start = RecordOf("start", size);
      const wire::ExecutionRecord end = RecordOf("end", end_size);
      const auto file = *ExecutionFile::Create(path_);
      ASSERT_THAT(file->WriteStart(SealRecord(start)), IsOk());
      ASSERT_THAT(file->WriteEnd(SealRecord(end)), IsOk());
      const auto records = ExecutionRecords::Open(path_);
      ASSERT_THAT(records.status(), IsOk());
      wire::ExecutionRecord read;
      ASSERT_THAT(records->ReadStart(&read), IsOk());
      EXPECT_EQ(read.SerializeAsString(), start.SerializeAsString());
      ASSERT_THAT(records->ReadEnd(&read), IsOk());
      EXPECT_EQ(read.SerializeAsString(), end.SerializeAsString());
      std::filesystem::remove(path_);
    }
  }
}

TEST_F(ExecutionFileTest, TakesOneBlockForShortRecords) {
  const auto file = *ExecutionFile::Create(path_);
  ASSERT_THAT(file->WriteStart(SealRecord(RecordOf("e1", kStartPlace.size))),
              IsOk());
  ASSERT_THAT(file->WriteEnd(SealRecord(RecordOf("e1", kEndPlace.size))),
              IsOk());
  ASSERT_EQ(::fsync(file->fd()), 0);
  EXPECT_EQ(DiskUse(), 4096u);
}

// So that a full disk cannot refuse it.
TEST_F(ExecutionFileTest, HasRoomForTheLongestEndInItsFirstBlock) {
  wire::ExecutionRecord end;
  end.set_id(std::string(63, 'e'));
  end.set_state(wire::ExecutionRecord::EXITED);
  end.set_create_time_ns(INT64_MAX);
  end.set_start_time_ns(INT64_MAX);
  end.set_end_time_ns(INT64_MAX);
  end.mutable_exit()->set_wait_status(0xffff);
  end.mutable_exit()->set_cause(wire::ExitRecord::OUTPUT_FAILED);
  end.mutable_exit()->set_output_open(true);
  end.mutable_exit()->set_killed_count(1 << 22);
  for (int i = 0; i < 32; ++i) {
    wire::ExitRecord::Killed* killed = end.mutable_exit()->add_killed();
    killed->set_pid(1 << 22);
    killed->set_command(std::string(15, 'k'));
  }
  end.mutable_usage()->set_user_time_ns(INT64_MAX);
  end.mutable_usage()->set_system_time_ns(INT64_MAX);
  end.mutable_usage()->set_wall_time_ns(INT64_MAX);
  end.mutable_usage()->set_memory_peak_bytes(UINT64_MAX);
  end.mutable_usage()->set_oom_kills(UINT64_MAX);
  end.mutable_usage()->set_disk_read_bytes(UINT64_MAX);
  end.mutable_usage()->set_disk_written_bytes(UINT64_MAX);
  end.mutable_input()->set_accepted_offset(UINT64_MAX);
  end.mutable_input()->set_closed(true);
  end.mutable_request()->set_request_id(std::string(128, 'r'));
  end.mutable_request()->set_digest(std::string(32, 'd'));
  for (const wire::Stream stream : {wire::STDOUT, wire::STDERR}) {
    wire::StreamState* state = end.add_streams();
    state->set_stream(stream);
    // Positions in a file.
    state->set_begin(INT64_MAX);
    state->set_end(INT64_MAX);
    state->set_gap_begin(INT64_MAX);
    state->set_gap_end(INT64_MAX);
    state->set_closed(true);
    state->set_expired(true);
  }
  // An hour to start it, and a year until it ends.
  constexpr int64_t kHour = 3'600'000'000'000;
  constexpr int64_t kYear = 365 * 24 * kHour;
  wire::ExecutionTrace* trace = end.mutable_trace();
  trace->set_receive_unix_ns(INT64_MAX);
  trace->set_admitted_ns(kHour);
  trace->set_sent_ns(kHour);
  trace->set_accepted_ns(kHour);
  trace->set_prepared_ns(kHour);
  trace->set_spawning_ns(kHour);
  trace->set_executing_ns(kHour);
  trace->set_executed_ns(kHour);
  trace->set_first_byte_ns(kYear);
  trace->set_exited_ns(kYear);
  trace->set_drained_ns(kYear);
  EXPECT_LE(SealRecord(end).size(), kEndPlace.size);
}

TEST_F(ExecutionFileTest, HasNoRecordBeforeItIsWritten) {
  const auto file = *ExecutionFile::Create(path_);
  wire::ExecutionRecord read;
  const auto records = ExecutionRecords::Open(path_);
  EXPECT_THAT(records->ReadStart(&read),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/e1: ")));
  EXPECT_TRUE(absl::IsDataLoss(records->ReadEnd(&read)));
}

TEST_F(ExecutionFileTest, RefusesAnEndThatWouldReachIntoTheStart) {
  const auto file = *ExecutionFile::Create(path_);
  EXPECT_THAT(
      file->WriteEnd(SealRecord(RecordOf("e1", kEndPlace.long_size + 1))),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("4097 bytes")));
}

TEST_F(ExecutionFileTest, WritesAnEndAgainThatTheDiskRefused) {
  const auto file = *ExecutionFile::Create(path_);
  absl::Status refused;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pwrite64}, ENOSPC, [&] {
    refused = file->WriteEnd(SealRecord(RecordOf("e1", 100)));
  }));
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("record of the end")));
  EXPECT_THAT(file->WriteEnd(SealRecord(RecordOf("e1", 100))), IsOk());
}

TEST_F(ExecutionFileTest, ReportsARecordThatTheDiskTakesInPartOnly) {
  const auto file = *ExecutionFile::Create(path_);
  const wire::ExecutionRecord start = RecordOf("e1", 1 << 20);
  absl::Status refused;
  {
    const tests::FileSizeLimit limit(kStartPlace.long_position + 100);
    refused = file->WriteStart(SealRecord(start));
  }
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("record of the start")));
  wire::ExecutionRecord read;
  EXPECT_TRUE(
      absl::IsDataLoss(ExecutionRecords::Open(path_)->ReadStart(&read)));
  ASSERT_THAT(file->WriteStart(SealRecord(start)), IsOk());
  EXPECT_THAT(ExecutionRecords::Open(path_)->ReadStart(&read), IsOk());
}

TEST_F(ExecutionFileTest, TakesNoDiskThatFailsForALostRecord) {
  const auto file = *ExecutionFile::Create(path_);
  const auto records = *ExecutionRecords::Open(path_);
  wire::ExecutionRecord record;
  absl::Status opened;
  absl::Status read;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pread64}, EIO, [&] {
    opened = ExecutionRecords::Open(path_).status();
    read = records.ReadStart(&record);
  }));
  for (const absl::Status& status : {opened, read}) {
    EXPECT_FALSE(absl::IsDataLoss(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("/e1: read: "));
  }
  ASSERT_TRUE(tests::WithFailingCalls({SYS_fstat, SYS_newfstatat}, EIO, [&] {
    opened = ExecutionRecords::Open(path_).status();
  }));
  EXPECT_THAT(std::string(opened.message()), HasSubstr("/e1: fstat: "));
}

TEST_F(ExecutionFileTest, IsNotMadeTwice) {
  const auto file = ExecutionFile::Create(path_);
  ASSERT_THAT(file.status(), IsOk());
  EXPECT_THAT(ExecutionFile::Create(path_).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("e1")));
  EXPECT_TRUE(std::filesystem::exists(path_)) << "that of another";
}

TEST_F(ExecutionFileTest, LeavesNothingWhenItCannotBeMade) {
  std::vector<int> calls = {SYS_pwrite64};
  // Sanitizers map memory themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  calls.push_back(SYS_mmap);
#endif
  for (const int call : calls) {
    absl::Status failed;
    ASSERT_TRUE(tests::WithFailingCalls({call}, ENOSPC, [&] {
      failed = ExecutionFile::Create(path_).status();
    }));
    EXPECT_TRUE(absl::IsResourceExhausted(failed)) << failed;
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
}

TEST_F(ExecutionFileTest, GetsAnotherName) {
  const auto file = *ExecutionFile::Create(path_);
  const auto taken = *ExecutionFile::Create(directory_ + "/e2");
  EXPECT_THAT(file->Rename(directory_ + "/e2"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("e2")));
  EXPECT_EQ(file->path(), path_);
  ASSERT_THAT(file->Rename(directory_ + "/e3"), IsOk());
  EXPECT_EQ(file->path(), directory_ + "/e3");
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/e3"));
}

TEST_F(ExecutionFileTest, ReportsThatItsEndReachedTheDisk) {
  const auto file = *ExecutionFile::Create(path_);
  EXPECT_FALSE(ExecutionRecords::Open(path_)->synced());
  const uint64_t synced = 1;
  ASSERT_EQ(::pwrite(file->fd(), &synced, sizeof(synced), 8), 8);
  EXPECT_TRUE(ExecutionRecords::Open(path_)->synced());
}

TEST_F(ExecutionFileTest, RefusesWhatIsNoFileOfAnExecution) {
  EXPECT_TRUE(absl::IsNotFound(ExecutionRecords::Open(path_).status()));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(ExecutionRecords::Open(directory_).status()));
  // A page of zeros, and the begin of a page.
  for (const off_t size : {4096, 4095}) {
    std::filesystem::remove(path_);
    {
      const auto file = *ExecutionFile::Create(path_);
      if (size == 4096) {
        ASSERT_EQ(::pwrite(file->fd(), "", 1, 0), 1);
      }
      ASSERT_EQ(::ftruncate(file->fd(), size), 0);
    }
    EXPECT_THAT(ExecutionRecords::Open(path_).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no file of")));
  }
}

}  // namespace
}  // namespace sandbox
