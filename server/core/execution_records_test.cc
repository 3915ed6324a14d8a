#include "server/core/execution_records.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using ::tests::IsOk;
namespace wire = ::corral::supervisor::v1;

// The directory of one sandbox.
class ExecutionRecordsTest : public ::testing::Test {
 protected:
  ExecutionRecordsTest()
      : path_(absl::StrCat(
            ::testing::TempDir(), "/records_",
            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(path_);
  }
  ~ExecutionRecordsTest() override { std::filesystem::remove_all(path_); }

  std::shared_ptr<sandbox::ExecutionFile> Make(const std::string& execution) {
    std::filesystem::create_directories(path_ + "/executions");
    return *sandbox::ExecutionFile::Create(ExecutionPath(path_, execution));
  }
  void WriteStart(const std::string& execution,
                  const wire::ExecutionRecord& record) {
    files_[execution] = Make(execution);
    ASSERT_THAT(files_[execution]->WriteStart(sandbox::SealRecord(record)),
                IsOk());
  }
  void WriteEnd(const std::string& execution,
                const wire::ExecutionRecord& record) {
    ASSERT_THAT(files_[execution]->WriteEnd(sandbox::SealRecord(record)),
                IsOk());
  }
  // In the directory that an earlier supervisor has made.
  void WriteEarlier(const std::string& execution, const std::string& file,
                    const wire::ExecutionRecord& record) {
    const std::string directory = ExecutionPath(path_, execution);
    std::filesystem::create_directories(directory);
    std::ofstream(absl::StrCat(directory, "/", file))
        << sandbox::SealRecord(record);
  }
  // Reads all records into `records`.
  absl::Status Read(std::vector<wire::ExecutionRecord>* records) {
    return ReadExecutionRecords(
        path_, host_went_down_, [](const std::string&) { return true; },
        [&](const wire::ExecutionRecord& record) {
          records->push_back(record);
        });
  }
  std::vector<wire::ExecutionRecord> Records() {
    std::vector<wire::ExecutionRecord> records;
    EXPECT_THAT(Read(&records), IsOk());
    return records;
  }

  const std::string path_;
  std::map<std::string, std::shared_ptr<sandbox::ExecutionFile>> files_;
  bool host_went_down_ = false;
};

TEST_F(ExecutionRecordsTest, MergesTheEndIntoTheStart) {
  wire::ExecutionRecord start;
  start.set_id("job");
  start.mutable_command()->add_argv("true");
  start.mutable_request()->set_request_id("r-1");
  WriteStart("job", start);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);

  wire::ExecutionRecord end;
  end.set_id("job");
  end.set_state(wire::ExecutionRecord::EXITED);
  end.mutable_exit()->set_wait_status(256);
  WriteEnd("job", end);
  const std::vector<wire::ExecutionRecord> records = Records();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(records[0].command().argv(0), "true");
  EXPECT_EQ(records[0].request().request_id(), "r-1");
}

TEST_F(ExecutionRecordsTest, ReadsTheStartTimeOfAnUnendedExecutionFromItsLog) {
  wire::ExecutionRecord start;
  start.set_id("job");
  WriteStart("job", start);
  EXPECT_EQ(Records().at(0).start_time_ns(), 0);
  sandbox::OutputLogWriter(files_["job"], wire::TERMINAL).NoteStart(1234);
  EXPECT_EQ(Records().at(0).start_time_ns(), 1234);
}

TEST_F(ExecutionRecordsTest, IgnoresATornEnd) {
  wire::ExecutionRecord start;
  start.set_id("job");
  WriteStart("job", start);
  wire::ExecutionRecord end;
  WriteEnd("job", end);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
  // All that came before the message that says how.
  end.set_id("job");
  end.set_state(wire::ExecutionRecord::EXITED);
  WriteEnd("job", end);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
}

TEST_F(ExecutionRecordsTest, LeavesOutExecutionsWithoutTheirStart) {
  files_["job"] = Make("job");
  WriteEnd("job", wire::ExecutionRecord());
  wire::ExecutionRecord other;
  other.set_id("other");
  WriteStart("torn", other);
  EXPECT_THAT(Records(), SizeIs(0));
}

TEST_F(ExecutionRecordsTest, ReportsRecordsThatItCannotRead) {
  wire::ExecutionRecord record;
  record.set_id("job");
  WriteStart("job", record);
  WriteEarlier("earlier", "start.pb", record);
  record.set_id("earlier");
  WriteEarlier("earlier", "start.pb", record);
  // No file can be read from a directory.
  for (const char* unreadable :
       {"/executions/earlier/exit.pb", "/executions/other/start.pb"}) {
    std::filesystem::create_directories(path_ + unreadable);
    std::vector<wire::ExecutionRecord> records;
    EXPECT_THAT(Read(&records), Not(IsOk()));
    EXPECT_THAT(records, SizeIs(2));
    std::filesystem::remove_all(path_ + unreadable);
  }
  std::vector<wire::ExecutionRecord> records;
  absl::Status status;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pread64}, EIO,
                                      [&] { status = Read(&records); }));
  EXPECT_THAT(status, Not(IsOk()));
  EXPECT_THAT(Records(), SizeIs(2));
}

TEST_F(ExecutionRecordsTest, ReportsExecutionsThatItCannotList) {
  EXPECT_THAT(Records(), SizeIs(0));
  std::ofstream(path_ + "/executions") << "no directory";
  std::vector<wire::ExecutionRecord> records;
  EXPECT_THAT(Read(&records), Not(IsOk()));
  EXPECT_THAT(CutLogs(path_), Not(IsOk()));
}

TEST_F(ExecutionRecordsTest, ReadsOnlyTheRecordsThatAreWanted) {
  for (const char* id : {"job", "other"}) {
    wire::ExecutionRecord start;
    start.set_id(id);
    WriteStart(id, start);
  }
  std::vector<std::string> ids;
  EXPECT_THAT(ReadExecutionRecords(
                  path_, /*host_went_down=*/false,
                  [](const std::string& id) { return id == "other"; },
                  [&](const wire::ExecutionRecord& record) {
                    ids.push_back(record.id());
                  }),
              IsOk());
  EXPECT_THAT(ids, ElementsAre("other"));
}

TEST_F(ExecutionRecordsTest, CountsAnEndThatIsNotSyncedUnlessTheHostWentDown) {
  wire::ExecutionRecord record;
  record.set_id("job");
  WriteStart("job", record);
  record.set_state(wire::ExecutionRecord::EXITED);
  record.mutable_exit();
  record.add_streams()->set_end(1);
  WriteEnd("job", record);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::EXITED);
  host_went_down_ = true;
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
  const uint64_t synced = 1;
  ASSERT_EQ(::pwrite(files_["job"]->fd(), &synced, sizeof(synced),
                     offsetof(sandbox::ExecutionHeader, synced)),
            static_cast<ssize_t>(sizeof(synced)));
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::EXITED);
}

TEST_F(ExecutionRecordsTest, CountsAnEndWithoutOutputThoughTheHostWentDown) {
  wire::ExecutionRecord record;
  record.set_id("job");
  WriteStart("job", record);
  record.set_state(wire::ExecutionRecord::EXITED);
  record.mutable_exit();
  record.add_streams();
  WriteEnd("job", record);
  host_went_down_ = true;
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::EXITED);
  // A descendant may have written afterwards.
  record.mutable_exit()->set_output_open(true);
  WriteEnd("job", record);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
}

TEST_F(ExecutionRecordsTest, ReadsWhatAnEarlierSupervisorHasWritten) {
  wire::ExecutionRecord record;
  record.set_id("job");
  record.mutable_command()->set_open_stdin(true);
  WriteEarlier("job", "start.pb", record);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
  record.set_state(wire::ExecutionRecord::EXITED);
  record.mutable_exit()->set_wait_status(1);
  WriteEarlier("job", "exit.pb.new", record);
  EXPECT_EQ(Records().at(0).exit().wait_status(), 1);
  record.mutable_exit()->set_wait_status(2);
  WriteEarlier("job", "exit.pb", record);
  EXPECT_EQ(Records().at(0).exit().wait_status(), 2);
  EXPECT_TRUE(Records().at(0).command().open_stdin());
  EXPECT_TRUE(IsRecorded(path_, "job"));
}

TEST_F(ExecutionRecordsTest, KnowsWhetherAnExecutionIsRecorded) {
  EXPECT_FALSE(IsRecorded(path_, "job"));
  WriteStart("job", wire::ExecutionRecord());
  EXPECT_TRUE(IsRecorded(path_, "job"));
  std::filesystem::create_directories(ExecutionPath(path_, "earlier"));
  EXPECT_FALSE(IsRecorded(path_, "earlier")) << "its records were removed";
}

TEST_F(ExecutionRecordsTest, RemovesAllFilesOfAnExecution) {
  WriteStart("job", wire::ExecutionRecord());
  WriteStart("job2", wire::ExecutionRecord());
  for (const char* suffix : {".out", ".err", ".times"}) {
    std::ofstream(ExecutionPath(path_, "job") + suffix) << "x";
  }
  EXPECT_THAT(RemoveExecution(ExecutionPath(path_, "job")), IsOk());
  EXPECT_THAT(RemoveExecution(ExecutionPath(path_, "job")), IsOk());
  EXPECT_THAT(ListExecutionNames(path_).value(), ElementsAre("job2"));
  WriteEarlier("job", "start.pb", wire::ExecutionRecord());
  EXPECT_THAT(RemoveExecution(ExecutionPath(path_, "job")), IsOk());
  absl::Status refused;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_unlink}, EIO, [&] {
    refused = RemoveExecution(ExecutionPath(path_, "job2"));
  }));
  EXPECT_THAT(refused, Not(IsOk()));
  EXPECT_THAT(ListExecutionNames(path_).value(), ElementsAre("job2"));
}

TEST_F(ExecutionRecordsTest, ReportsAFileThatItCannotRemove) {
  const std::string execution = ExecutionPath(path_, "job");
  for (const char* suffix : {".out", ".err", ".times"}) {
    std::filesystem::create_directories(execution + suffix);
    EXPECT_THAT(RemoveExecution(execution), Not(IsOk())) << suffix;
    std::filesystem::remove(execution + suffix);
    EXPECT_THAT(RemoveExecution(execution), IsOk()) << suffix;
  }
}

TEST_F(ExecutionRecordsTest, CutsEveryLogOfEveryExecution) {
  for (const char* id : {"one", "two"}) {
    const auto file = Make(id);
    std::ofstream(ExecutionPath(path_, id) + ".out") << "is no execution";
  }
  EXPECT_THAT(CutLogs(path_), IsOk());
  for (const char* id : {"one", "two"}) {
    for (const wire::Stream stream : {wire::STDOUT, wire::STDERR}) {
      EXPECT_TRUE(
          sandbox::OutputLogReader::Open(ExecutionPath(path_, id), stream)
              ->state()
              ->closed);
    }
  }
}

TEST_F(ExecutionRecordsTest, ReadsTheEndOfACommandThatFailedToStart) {
  wire::ExecutionRecord record;
  record.set_id("job");
  WriteStart("job", record);
  record.set_state(wire::ExecutionRecord::FAILED_TO_START);
  WriteEnd("job", record);  // torn: nothing says why
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
  record.mutable_failure()->set_errno_value(ENOENT);
  WriteEnd("job", record);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::FAILED_TO_START);
  record.set_id("other");
  WriteEnd("job", record);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
}

TEST_F(ExecutionRecordsTest, DoesNotLookIntoDirectoriesThatAreBeingRemoved) {
  std::filesystem::create_directories(path_ +
                                      "/executions/.removed-job/start.pb");
  EXPECT_THAT(Records(), SizeIs(0));
}

TEST_F(ExecutionRecordsTest, ReadsTheWholeCommandOfAnExecution) {
  const std::string execution = ExecutionPath(path_, "job");
  EXPECT_TRUE(absl::IsNotFound(ReadCommand(execution).status()));
  corral::v1::Command command;
  command.add_argv("true");
  wire::ExecutionRecord start;
  start.mutable_command()->set_original(command.SerializeAsString());
  WriteStart("job", start);
  ASSERT_THAT(ReadCommand(execution).status(), IsOk());
  EXPECT_THAT(ReadCommand(execution)->argv(), ElementsAre("true"));
  start.mutable_command()->set_original("\xff");
  ASSERT_THAT(files_["job"]->WriteStart(sandbox::SealRecord(start)), IsOk());
  EXPECT_TRUE(absl::IsNotFound(ReadCommand(execution).status()));
  ASSERT_THAT(files_["job"]->WriteStart("torn"), IsOk());
  EXPECT_TRUE(absl::IsNotFound(ReadCommand(execution).status()));
  absl::Status unreadable;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pread64}, EIO, [&] {
    unreadable = ReadCommand(execution).status();
  }));
  EXPECT_THAT(unreadable, Not(IsOk()));
  EXPECT_FALSE(absl::IsNotFound(unreadable));
}

TEST_F(ExecutionRecordsTest, RemovesWhatDeletionsAndADeadSupervisorLeft) {
  wire::ExecutionRecord start;
  start.set_id("job");
  WriteStart("job", start);
  for (const char* name : {".removed-old", ".ahead", "torn"}) {
    (void)Make(name);
  }
  WriteEarlier("torn-earlier", "other", start);
  for (const char* name : {"job.out", "torn.out", "gone.err"}) {
    std::ofstream(ExecutionPath(path_, name)) << "x";
  }
  RemoveLeftoverExecutions(path_, /*never_begun=*/false);
  EXPECT_THAT(ListExecutionNames(path_).value(),
              UnorderedElementsAre("job", "job.out", ".ahead", "torn",
                                   "torn.out", "torn-earlier", "gone.err"));
  RemoveLeftoverExecutions(path_, /*never_begun=*/true);
  EXPECT_THAT(ListExecutionNames(path_).value(),
              UnorderedElementsAre("job", "job.out"));
}

TEST_F(ExecutionRecordsTest, ReportsALogThatItCannotCut) {
  std::filesystem::create_directories(ExecutionPath(path_, "job"));
  std::filesystem::create_directories(ExecutionPath(path_, ".removed-job") +
                                      "/stdout");
  std::ofstream(ExecutionPath(path_, "empty")) << "";
  EXPECT_THAT(CutLogs(path_), IsOk()) << "no log is no error";
  for (const char* log : {"/stdout", "/stderr", "/terminal"}) {
    const std::string path = ExecutionPath(path_, "job") + log;
    std::filesystem::create_directories(path);
    EXPECT_THAT(CutLogs(path_), Not(IsOk())) << log;
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace server
