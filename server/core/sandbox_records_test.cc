// Recovery of a sandbox whose records or logs are incomplete or cannot be read.

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "server/core/execution.h"
#include "server/core/recovery.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::Execution;

using SandboxRecordsTest = SandboxFixture;

TEST_F(SandboxRecordsTest, ACommandThatOnlyItsSupervisorRemembersIsKept) {
  std::filesystem::create_directories(
      absl::StrCat(path_, "/executions/job/start.pb"));
  Recover();
  for (int attempt = 0; attempt < Recovery::kReadAttempts; ++attempt) {
    AwaitNextRead();
  }
  Attach();
  wire::ExecutionRecord running = Running("job");
  running.add_streams()->set_stream(wire::TERMINAL);
  sandbox_->OnSnapshot(SnapshotOf({running}));
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::RUNNING);
  EXPECT_TRUE(Get("job").command().has_terminal());
}

TEST_F(SandboxRecordsTest, NoLossIsReportedBeforeTheDiskCanBeRead) {
  WriteEnded("ended", absl::Minutes(1));
  WriteStart("job");
  Obstruct();
  Recover();
  sandbox_->Attach(nullptr);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_FALSE(sandbox_->knows_executions());
  Restore();
  AwaitNextRead();
  EXPECT_EQ(State(), corral::v1::Sandbox::FAILED);
  EXPECT_EQ(Get("ended").state(), Execution::EXITED);
  EXPECT_EQ(Get("job").state(), Execution::LOST);
}

TEST_F(SandboxRecordsTest, RecordsThatStayUnreadableAreGivenUp) {
  Obstruct();
  Recover();
  AwaitLanes();
  for (int attempt = 1; attempt < Recovery::kReadAttempts; ++attempt) {
    AwaitNextRead();
  }
  sandbox_->Attach(nullptr);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_TRUE(sandbox_->knows_executions());
}

TEST_F(SandboxRecordsTest, WhatIsGivenUpIsUnknownUntilItsSupervisorReportsIt) {
  WriteEnded("ended", absl::Minutes(1));
  Obstruct();
  Recover();
  AwaitLanes();
  for (int attempt = 1; attempt < Recovery::kReadAttempts; ++attempt) {
    AwaitNextRead();
  }
  Attach();
  AwaitLanes();
  EXPECT_FALSE(sandbox_->knows_executions()) << "it would be denied";
  EXPECT_EQ(State(), corral::v1::Sandbox::CREATING);
  // The supervisor can read it now.
  Restore();
  sandbox_->OnSnapshot(
      SnapshotOf({Record("ended", wire::ExecutionRecord::EXITED)}));
  AwaitLanes();
  EXPECT_TRUE(sandbox_->knows_executions());
  EXPECT_EQ(Get("ended").state(), Execution::EXITED);
}

TEST_F(SandboxRecordsTest, ForgetsNothingThatTheDiskDoesNotShow) {
  WriteStart("job");
  Recover();
  AwaitLanes();
  Obstruct();
  Attach();
  sandbox_->OnSnapshot(SnapshotOf({}));
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::LOST);
  Restore();
}

TEST_F(SandboxRecordsTest, RebuildsACommandFromWhatItsSupervisorRemembers) {
  wire::ExecutionRecord merged = Running("merged");
  merged.add_streams()->set_stream(wire::STDOUT);
  merged.mutable_input();
  wire::ExecutionRecord apart = Running("apart");
  apart.add_streams()->set_stream(wire::STDOUT);
  apart.add_streams()->set_stream(wire::STDERR);
  for (const char* id : {"merged", "apart"}) {
    std::filesystem::create_directories(
        absl::StrCat(path_, "/executions/", id, "/start.pb"));
  }
  Recover();
  for (int attempt = 0; attempt < Recovery::kReadAttempts; ++attempt) {
    AwaitNextRead();
  }
  Attach();
  sandbox_->OnSnapshot(SnapshotOf({merged, apart}));
  AwaitLanes();
  EXPECT_TRUE(Get("merged").command().merge_stderr());
  EXPECT_TRUE(Get("merged").command().stdin());
  EXPECT_FALSE(Get("merged").command().has_terminal());
  EXPECT_FALSE(Get("apart").command().merge_stderr());
  EXPECT_FALSE(Get("apart").command().stdin());
}

TEST_F(SandboxRecordsTest, SkipsARecordWithoutACommand) {
  wire::ExecutionRecord start = Record("bad", wire::ExecutionRecord::STARTING);
  start.mutable_command()->set_original("\xff");
  WriteStart(start);
  WriteStart("good");
  Recover();
  AwaitLanes();
  EXPECT_EQ(sandbox_->FindExecution("bad"), nullptr);
  EXPECT_NE(sandbox_->FindExecution("good"), nullptr);
}

TEST_F(SandboxRecordsTest, ReadsTheLogsThatTheRecordOfTheEndLeftOpen) {
  for (const char* id : {"unknown", "open", "closed"}) {
    WriteStart(id);
    wire::ExecutionRecord end = Record(id, wire::ExecutionRecord::EXITED);
    if (id != std::string("unknown")) {
      end.add_streams()->set_closed(id == std::string("closed"));
    }
    WriteEnd(end);
    WriteOutput(id, "text");
  }
  Recover();
  AwaitLanes();
  const auto end_of = [this](const std::string& id) {
    return sandbox_->FindExecution(id)->output(corral::v1::STDOUT)->end;
  };
  EXPECT_EQ(end_of("unknown"), 4);
  EXPECT_EQ(end_of("open"), 4);
  EXPECT_EQ(end_of("closed"), 0) << "the log was opened in vain";
}

TEST_F(SandboxRecordsTest, NoticesThatOutputExpiredAfterTheEnd) {
  WriteStart("job");
  wire::ExecutionRecord end = Record("job", wire::ExecutionRecord::EXITED);
  end.add_streams()->set_closed(true);
  end.mutable_streams(0)->set_end(4);
  WriteEnd(end);
  WriteOutput("job", "text");
  EXPECT_TRUE(sandbox::ExpireOutputLog(absl::StrCat(path_, "/executions/job"),
                                       wire::STDOUT)
                  .ok());
  Recover();
  sandbox_->Attach(nullptr);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_TRUE(
      sandbox_->FindExecution("job")->output(corral::v1::STDOUT)->expired);
}

TEST_F(SandboxRecordsTest, CutsTheLogsAfterARestartOfTheHost) {
  WriteStart("job");
  WriteOutput("job", "text");
  wire::SandboxSpec spec;
  for (const char* boot_id : {"boot", "another"}) {
    spec.set_boot_id(boot_id);
    Recover(spec);
    AwaitLanes();
    EXPECT_EQ(
        sandbox_->FindExecution("job")->output(corral::v1::STDOUT)->closed,
        boot_id == std::string("another"));
  }
}

}  // namespace
}  // namespace server
