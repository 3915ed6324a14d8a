#include "server/core/execution_records.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
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

  void Write(const std::string& execution, const std::string& file,
             const wire::ExecutionRecord& record) {
    const std::string directory = ExecutionPath(path_, execution);
    std::filesystem::create_directories(directory);
    std::ofstream(absl::StrCat(directory, "/", file))
        << sandbox::SealRecord(record);
  }
  // Reads all records into `records`.
  absl::Status Read(std::vector<wire::ExecutionRecord>* records) {
    return ReadExecutionRecords(
        path_, [](const std::string&) { return true; },
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
};

TEST_F(ExecutionRecordsTest, MergesTheEndIntoTheStart) {
  wire::ExecutionRecord start;
  start.set_id("job");
  start.mutable_command()->add_argv("true");
  start.mutable_request()->set_request_id("r-1");
  Write("job", "start.pb", start);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);

  wire::ExecutionRecord end;
  end.set_id("job");
  end.set_state(wire::ExecutionRecord::EXITED);
  end.mutable_exit()->set_wait_status(256);
  Write("job", "exit.pb", end);
  const std::vector<wire::ExecutionRecord> records = Records();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(records[0].command().argv(0), "true");
  EXPECT_EQ(records[0].request().request_id(), "r-1");
}

TEST_F(ExecutionRecordsTest, ReadsTheStartTimeOfAnUnendedExecutionFromItsLog) {
  wire::ExecutionRecord start;
  start.set_id("job");
  Write("job", "start.pb", start);
  EXPECT_EQ(Records().at(0).start_time_ns(), 0);
  const sandbox::UniqueFd directory(::open(
      absl::StrCat(path_, "/executions/job").c_str(), O_PATH | O_CLOEXEC));
  absl::StatusOr<sandbox::OutputLogWriter> log =
      sandbox::OutputLogWriter::Create(directory.get(), "terminal");
  ASSERT_THAT(log.status(), IsOk());
  EXPECT_EQ(Records().at(0).start_time_ns(), 0);
  log->NoteStart(1234);
  EXPECT_EQ(Records().at(0).start_time_ns(), 1234);
}

TEST_F(ExecutionRecordsTest, IgnoresATornEnd) {
  wire::ExecutionRecord start;
  start.set_id("job");
  Write("job", "start.pb", start);
  wire::ExecutionRecord end;
  Write("job", "exit.pb", end);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
  // All that came before the message that says how.
  end.set_id("job");
  end.set_state(wire::ExecutionRecord::EXITED);
  Write("job", "exit.pb", end);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
}

TEST_F(ExecutionRecordsTest, LeavesOutExecutionsWithoutTheirStart) {
  Write("job", "exit.pb", wire::ExecutionRecord());
  wire::ExecutionRecord other;
  other.set_id("other");
  Write("torn", "start.pb", other);
  EXPECT_THAT(Records(), SizeIs(0));
}

TEST_F(ExecutionRecordsTest, ReportsRecordsThatItCannotRead) {
  wire::ExecutionRecord record;
  record.set_id("job");
  Write("job", "start.pb", record);
  // No file can be read from a directory.
  for (const char* unreadable :
       {"/executions/job/exit.pb", "/executions/other/start.pb"}) {
    std::filesystem::create_directories(path_ + unreadable);
    std::vector<wire::ExecutionRecord> records;
    EXPECT_THAT(Read(&records), Not(IsOk()));
    EXPECT_THAT(records, SizeIs(1));
    std::filesystem::remove_all(path_ + unreadable);
  }
  EXPECT_THAT(Records(), SizeIs(1));
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
    Write(id, "start.pb", start);
  }
  std::vector<std::string> ids;
  EXPECT_THAT(ReadExecutionRecords(
                  path_, [](const std::string& id) { return id == "other"; },
                  [&](const wire::ExecutionRecord& record) {
                    ids.push_back(record.id());
                  }),
              IsOk());
  EXPECT_THAT(ids, ElementsAre("other"));
}

TEST_F(ExecutionRecordsTest, ReadsAnEndThatIsNotSyncedYet) {
  wire::ExecutionRecord record;
  record.set_id("job");
  Write("job", "start.pb", record);
  record.set_state(wire::ExecutionRecord::EXITED);
  record.mutable_exit();
  Write("job", "exit.pb.new", record);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::EXITED);
}

TEST_F(ExecutionRecordsTest, CutsEveryLogOfEveryExecution) {
  std::vector<std::string> logs;
  for (const char* id : {"one", "two"}) {
    const std::string execution = ExecutionPath(path_, id);
    std::filesystem::create_directories(execution);
    const sandbox::UniqueFd directory(
        ::open(execution.c_str(), O_PATH | O_CLOEXEC));
    for (const char* name : {"stdout", "stderr", "terminal"}) {
      ASSERT_THAT(
          sandbox::OutputLogWriter::Create(directory.get(), name).status(),
          IsOk());
      logs.push_back(absl::StrCat(execution, "/", name));
    }
  }
  EXPECT_THAT(CutLogs(path_), IsOk());
  for (const std::string& log : logs) {
    EXPECT_TRUE(sandbox::OutputLogReader::Open(log)->state()->closed) << log;
  }
}

TEST_F(ExecutionRecordsTest, ReadsTheEndOfACommandThatFailedToStart) {
  wire::ExecutionRecord record;
  record.set_id("job");
  Write("job", "start.pb", record);
  record.set_state(wire::ExecutionRecord::FAILED_TO_START);
  Write("job", "exit.pb", record);  // torn: nothing says why
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
  record.mutable_failure()->set_errno_value(ENOENT);
  Write("job", "exit.pb", record);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::FAILED_TO_START);
  record.set_id("other");
  Write("job", "exit.pb", record);
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
  Write("job", "start.pb", start);
  ASSERT_THAT(ReadCommand(execution).status(), IsOk());
  EXPECT_THAT(ReadCommand(execution)->argv(), ElementsAre("true"));
  start.mutable_command()->set_original("\xff");
  Write("job", "start.pb", start);
  EXPECT_TRUE(absl::IsNotFound(ReadCommand(execution).status()));
  std::ofstream(execution + "/start.pb") << "torn";
  EXPECT_TRUE(absl::IsNotFound(ReadCommand(execution).status()));
  std::filesystem::remove(execution + "/start.pb");
  std::filesystem::create_directory(execution + "/start.pb");
  const absl::Status unreadable = ReadCommand(execution).status();
  EXPECT_THAT(unreadable, Not(IsOk()));
  EXPECT_FALSE(absl::IsNotFound(unreadable));
}

TEST_F(ExecutionRecordsTest, RemovesWhatDeletionsAndADeadSupervisorLeft) {
  wire::ExecutionRecord start;
  start.set_id("job");
  Write("job", "start.pb", start);
  for (const char* name : {".removed-old", ".ahead", "torn"}) {
    std::filesystem::create_directories(ExecutionPath(path_, name));
  }
  std::ofstream(ExecutionPath(path_, "torn") + "/start.pb") << "torn";
  RemoveLeftoverExecutions(path_, /*never_begun=*/false);
  EXPECT_THAT(ListExecutionNames(path_).value(),
              UnorderedElementsAre("job", ".ahead", "torn"));
  RemoveLeftoverExecutions(path_, /*never_begun=*/true);
  EXPECT_THAT(ListExecutionNames(path_).value(), ElementsAre("job"));
}

TEST_F(ExecutionRecordsTest, ReportsALogThatItCannotCut) {
  std::filesystem::create_directories(ExecutionPath(path_, "job"));
  EXPECT_THAT(CutLogs(path_), IsOk()) << "no log is no error";
  std::filesystem::create_directories(ExecutionPath(path_, "job") + "/stdout");
  EXPECT_THAT(CutLogs(path_), Not(IsOk()));
}

}  // namespace
}  // namespace server
