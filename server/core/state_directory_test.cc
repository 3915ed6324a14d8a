#include "server/core/state_directory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
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

  void WriteRecord(const std::string& sandbox, const std::string& execution,
                   const std::string& file,
                   const wire::ExecutionRecord& record) {
    const std::string path =
        StateDirectory::ExecutionPath(state_->SandboxPath(sandbox), execution);
    std::filesystem::create_directories(path);
    std::ofstream(absl::StrCat(path, "/", file)) << sandbox::SealRecord(record);
  }

  // In the directory of the sandbox "box".
  void WriteFile(const std::string& name, const std::string& content) {
    std::ofstream(absl::StrCat(state_->SandboxPath("box"), "/", name),
                  std::ios::binary)
        << content;
  }
  // Reads all records of "box" into `records`.
  absl::Status Read(std::vector<wire::ExecutionRecord>* records) {
    return StateDirectory::ReadRecords(
        state_->SandboxPath("box"), [](const std::string&) { return true; },
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
  EXPECT_THAT(state_->ListSandboxes().value(), ElementsAre("box"));
  EXPECT_EQ(state_->ReadSpec("box").value().directory(), spec.directory());
  EXPECT_THAT(StateDirectory::Remove(state_->SandboxPath("box")), IsOk());
  EXPECT_FALSE(state_->ReadSpec("box").ok());
}

TEST_F(StateDirectoryTest, DoesNotTakeWhatCannotBeListedForEmpty) {
  std::filesystem::remove_all(absl::StrCat(path_, "/sandboxes"));
  EXPECT_THAT(state_->ListSandboxes().status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("sandboxes")));
}

TEST_F(StateDirectoryTest, AnEndCompletesItsStart) {
  WriteSpec("box");
  wire::ExecutionRecord start;
  start.set_id("job");
  start.mutable_command()->add_argv("true");
  WriteRecord("box", "job", "start.pb", start);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);

  wire::ExecutionRecord end;
  end.set_id("job");
  end.set_state(wire::ExecutionRecord::EXITED);
  end.mutable_exit()->set_wait_status(256);
  WriteRecord("box", "job", "exit.pb", end);
  const std::vector<wire::ExecutionRecord> records = Records();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(records[0].command().argv(0), "true");
}

TEST_F(StateDirectoryTest, KnowsWhenBeganWhatHasNoEnd) {
  WriteSpec("box");
  wire::ExecutionRecord start;
  start.set_id("job");
  WriteRecord("box", "job", "start.pb", start);
  EXPECT_EQ(Records().at(0).start_time_ns(), 0);
  const sandbox::UniqueFd directory(::open(
      absl::StrCat(state_->SandboxPath("box"), "/executions/job").c_str(),
      O_PATH | O_CLOEXEC));
  absl::StatusOr<sandbox::OutputLogWriter> log =
      sandbox::OutputLogWriter::Create(directory.get(), "terminal");
  ASSERT_THAT(log.status(), IsOk());
  EXPECT_EQ(Records().at(0).start_time_ns(), 0);
  log->NoteStart(1234);
  EXPECT_EQ(Records().at(0).start_time_ns(), 1234);
}

TEST_F(StateDirectoryTest, ATornEndIsNone) {
  WriteSpec("box");
  wire::ExecutionRecord start;
  start.set_id("job");
  WriteRecord("box", "job", "start.pb", start);
  wire::ExecutionRecord end;
  WriteRecord("box", "job", "exit.pb", end);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
  // All that came before the message that says how.
  end.set_id("job");
  end.set_state(wire::ExecutionRecord::EXITED);
  WriteRecord("box", "job", "exit.pb", end);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::STARTING);
}

TEST_F(StateDirectoryTest, WhatHasNoReadableStartNeverBegan) {
  WriteSpec("box");
  WriteRecord("box", "job", "exit.pb", wire::ExecutionRecord());
  wire::ExecutionRecord other;
  other.set_id("other");
  WriteRecord("box", "torn", "start.pb", other);
  EXPECT_THAT(Records(), SizeIs(0));
}

TEST_F(StateDirectoryTest, TakesNothingForMissingThatItCannotRead) {
  const std::string path = WriteSpec("box").directory();
  wire::ExecutionRecord record;
  record.set_id("job");
  WriteRecord("box", "job", "start.pb", record);
  // No file can be read from a directory.
  for (const char* unreadable :
       {"/executions/job/exit.pb", "/executions/other/start.pb"}) {
    std::filesystem::create_directories(path + unreadable);
    std::vector<wire::ExecutionRecord> records;
    EXPECT_THAT(Read(&records), Not(IsOk()));
    EXPECT_THAT(records, SizeIs(1));
    std::filesystem::remove_all(path + unreadable);
  }
  EXPECT_THAT(Records(), SizeIs(1));
}

TEST_F(StateDirectoryTest, DoesNotTakeExecutionsThatCannotBeListedForNone) {
  const std::string path = WriteSpec("box").directory();
  EXPECT_THAT(Records(), SizeIs(0));
  EXPECT_TRUE(StateDirectory::IsUnborn(path));
  WriteFile("executions", "no directory");
  std::vector<wire::ExecutionRecord> records;
  EXPECT_THAT(Read(&records), Not(IsOk()));
  EXPECT_THAT(StateDirectory::CutLogs(path), Not(IsOk()));
  EXPECT_FALSE(StateDirectory::IsUnborn(path));
}

TEST_F(StateDirectoryTest, ReadsOnlyTheRecordsThatAreWanted) {
  WriteSpec("box");
  for (const char* id : {"job", "other"}) {
    wire::ExecutionRecord start;
    start.set_id(id);
    WriteRecord("box", id, "start.pb", start);
  }
  std::vector<std::string> ids;
  EXPECT_THAT(StateDirectory::ReadRecords(
                  state_->SandboxPath("box"),
                  [](const std::string& id) { return id == "other"; },
                  [&](const wire::ExecutionRecord& record) {
                    ids.push_back(record.id());
                  }),
              IsOk());
  EXPECT_THAT(ids, ElementsAre("other"));
}

TEST_F(StateDirectoryTest, AnEndIsGoodBeforeItIsSynced) {
  WriteSpec("box");
  wire::ExecutionRecord record;
  record.set_id("job");
  WriteRecord("box", "job", "start.pb", record);
  record.set_state(wire::ExecutionRecord::EXITED);
  record.mutable_exit();
  WriteRecord("box", "job", "exit.pb.new", record);
  EXPECT_EQ(Records().at(0).state(), wire::ExecutionRecord::EXITED);
}

TEST_F(StateDirectoryTest, ReadsTheRecordsOfTheVersionBefore) {
  const wire::SandboxSpec spec = WriteSpec("box");
  wire::ExecutionRecord record;
  record.set_id("job");
  WriteRecord("box", "job", "start.pb", record);
  WriteFile("spec.pb", spec.SerializeAsString());
  WriteFile("executions/job/start.pb", record.SerializeAsString());
  EXPECT_EQ(state_->ReadSpec("box").value().id(), "box");
  EXPECT_THAT(Records(), SizeIs(1));
}

TEST_F(StateDirectoryTest, ATornSpecIsOfASandboxThatWasNeverMade) {
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

TEST_F(StateDirectoryTest, ASpecThatCannotBeWrittenLeavesNothing) {
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

TEST_F(StateDirectoryTest, KnowsADeletionAndAFailure) {
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

TEST_F(StateDirectoryTest, WhatAListeningSupervisorHoldsIsNotRemovedAsUnborn) {
  const std::string path = WriteSpec("box").directory();
  EXPECT_TRUE(StateDirectory::IsUnborn(path));
  WriteFile("control.sock", "");
  EXPECT_FALSE(StateDirectory::IsUnborn(path));
  EXPECT_FALSE(StateDirectory::RemoveUnborn(path).ok());
  const std::string removed = StateDirectory::RemovedPath(path);
  EXPECT_TRUE(std::filesystem::exists(removed + "/control.sock"));
  EXPECT_THAT(StateDirectory::Remove(removed), IsOk());
  EXPECT_THAT(state_->ListSandboxes().value(), SizeIs(0));
}

TEST_F(StateDirectoryTest, RemovesWhatAnEarlierRemovalLeft) {
  const std::string path = WriteSpec("box").directory();
  const std::string removed = StateDirectory::RemovedPath(path);
  std::filesystem::create_directories(removed + "/executions/old");
  EXPECT_THAT(StateDirectory::Remove(path), IsOk());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(removed));
  EXPECT_THAT(StateDirectory::Remove(path), IsOk());
}

TEST_F(StateDirectoryTest, CutsEveryLogOfEveryExecution) {
  const std::string path = WriteSpec("box").directory();
  std::vector<std::string> logs;
  for (const char* id : {"one", "two"}) {
    const std::string execution = StateDirectory::ExecutionPath(path, id);
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
  EXPECT_THAT(StateDirectory::CutLogs(path), IsOk());
  for (const std::string& log : logs) {
    EXPECT_TRUE(sandbox::OutputLogReader::Open(log)->state()->closed) << log;
  }
}

}  // namespace
}  // namespace server
