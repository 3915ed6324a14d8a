#include "server/core/execution.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "server/core/execution_fixture.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

namespace wire = ::corral::supervisor::v1;
using ::testing::_;
using ::testing::SizeIs;
using ::tests::IsOk;
using ::tests::StatusIs;

using ExecutionTest = ExecutionFixture;

corral::v1::Command MergedCommand() {
  corral::v1::Command command;
  command.set_merge_stderr(true);
  return command;
}

TEST_F(ExecutionTest, DescribesItsStreamsWithoutOpeningALog) {
  const auto execution = Start();
  wire::ExecutionRecord record = MakeRecord(Record::RUNNING, 9);
  *record.add_streams() = MakeReport(wire::STDERR, 4);
  EXPECT_FALSE(execution->Update(record));
  // The fixture made no log.
  const corral::v1::Execution description = execution->Describe();
  EXPECT_EQ(description.name(), "tenants/default/sandboxes/box/executions/job");
  ASSERT_THAT(description.streams(), SizeIs(2));
  EXPECT_EQ(description.streams(0).stream(), corral::v1::STDOUT);
  EXPECT_EQ(description.streams(0).end_offset(), 9);
  EXPECT_EQ(description.streams(1).stream(), corral::v1::STDERR);
  EXPECT_EQ(description.streams(1).end_offset(), 4);
  EXPECT_FALSE(description.streams(0).closed());
}

TEST_F(ExecutionTest, ShowsNoStreamBeforeItRuns) {
  const auto execution = Start();
  execution->Update(MakeRecord(Record::STARTING, 0));
  EXPECT_THAT(execution->Describe().streams(), SizeIs(0));
  execution->Update(MakeRecord(Record::RUNNING, 0));
  EXPECT_THAT(execution->Describe().streams(), SizeIs(1));
}

TEST_F(ExecutionTest, EndsOnce) {
  const auto execution = Start();
  EXPECT_TRUE(execution->Update(MakeRecord(Record::EXITED, 1)));
  EXPECT_FALSE(execution->Update(MakeRecord(Record::EXITED, 1)));
  EXPECT_FALSE(execution->Update(MakeRecord(Record::RUNNING, 1)));
  EXPECT_FALSE(execution->MarkLost(corral::v1::Loss()));
  EXPECT_EQ(execution->state(), corral::v1::Execution::EXITED);
}

TEST_F(ExecutionTest, TakesInOutputThatIsReportedAfterTheEnd) {
  const auto execution = Start();
  execution->Update(MakeRecord(Record::EXITED, 1));
  execution->Update(MakeRecord(Record::EXITED, 5));
  EXPECT_EQ(execution->output(corral::v1::STDOUT)->end, 5);
}

TEST_F(ExecutionTest, ClosesTheStreamsOfALostExecution) {
  const auto execution = Start();
  execution->Update(MakeRecord(Record::RUNNING, 5));
  corral::v1::Loss loss;
  loss.set_message("killed");
  EXPECT_TRUE(execution->MarkLost(loss));
  EXPECT_FALSE(execution->MarkLost(corral::v1::Loss()));
  EXPECT_EQ(execution->state(), corral::v1::Execution::LOST);
  EXPECT_EQ(execution->Describe().loss().message(), "killed");
  EXPECT_TRUE(execution->Describe().streams(0).closed());
}

TEST_F(ExecutionTest, ShowsThatAStreamIsClosed) {
  const auto execution = Start();
  wire::ExecutionRecord record = MakeRecord(Record::EXITED, 5);
  record.mutable_streams(0)->set_closed(true);
  execution->Update(record);
  EXPECT_TRUE(execution->Describe().streams(0).closed());
}

TEST_F(ExecutionTest, ReadersShareAnOpenLog) {
  Write(&Log(wire::STDOUT), "text");
  const auto execution = Start();
  EXPECT_EQ(execution->FindLog(corral::v1::STDOUT), nullptr);
  auto first = execution->OpenLog(corral::v1::STDOUT);
  ASSERT_THAT(first.status(), IsOk());
  EXPECT_EQ(execution->output(corral::v1::STDOUT)->end, 4);
  EXPECT_EQ(*execution->OpenLog(corral::v1::STDOUT), *first);
  EXPECT_EQ(execution->FindLog(corral::v1::STDOUT), *first);
  EXPECT_EQ(execution->FindLog(corral::v1::STDERR), nullptr);
  *first = nullptr;
  EXPECT_EQ(execution->FindLog(corral::v1::STDOUT), nullptr);
}

TEST_F(ExecutionTest, HasNoLogBeforeItsFileIsMade) {
  const auto execution = Start();
  EXPECT_THAT(execution->OpenLog(corral::v1::STDOUT).status(),
              StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(execution->ReadLogs(), IsOk());
  EXPECT_FALSE(execution->output(corral::v1::STDOUT).has_value());
}

TEST_F(ExecutionTest, ReadsWhatItsSupervisorDidNotReport) {
  sandbox::OutputLogWriter& log = Log(wire::STDOUT);
  Write(&log, "text");
  const auto execution = Start();
  execution->Update(MakeRecord(Record::RUNNING, 1));
  EXPECT_THAT(execution->ReadLogs(), IsOk());
  EXPECT_EQ(execution->output(corral::v1::STDOUT)->end, 4);
}

TEST_F(ExecutionTest, KeepsWhatIsKnownOfALogThatTheDiskDoesNotGive) {
  Write(&Log(wire::STDOUT), "text");
  const auto execution = Start();
  execution->Update(MakeRecord(Record::RUNNING, 1));
  std::filesystem::resize_file(file_path_, 0);
  EXPECT_FALSE(execution->ReadLogs().ok());
  EXPECT_EQ(execution->output(corral::v1::STDOUT)->end, 1);
}

TEST_F(ExecutionTest, OutputExpiresAfterTheEndTime) {
  corral::v1::Command command = MergedCommand();
  command.mutable_output()->mutable_keep_after_end()->set_seconds(60);
  const auto execution = Start(command);
  EXPECT_FALSE(execution->output_expire_time().has_value());
  execution->Update(MakeRecord(Record::RUNNING, 0));
  EXPECT_FALSE(execution->output_expire_time().has_value());
  execution->Update(MakeRecord(Record::EXITED, 0));
  EXPECT_EQ(execution->output_expire_time()->seconds(), 1'000'000'060);
}

TEST_F(ExecutionTest, OutputOfALostExecutionExpiresAfterItsLastWrite) {
  corral::v1::Command command = MergedCommand();
  command.mutable_output()->mutable_keep_after_end()->set_seconds(60);
  File();
  const timespec written[2] = {{5'000'000'000, 0}, {5'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, file_path_.c_str(), written, 0), 0);
  const auto execution = Start(command);
  EXPECT_THAT(execution->ReadLogs(), IsOk());
  execution->MarkLost(corral::v1::Loss());
  EXPECT_EQ(execution->output_expire_time()->seconds(), 5'000'000'060);
}

TEST_F(ExecutionTest, OutputThatWasNeverWrittenExpiresAfterTheCreation) {
  corral::v1::Command command;
  command.mutable_output()->mutable_keep_after_end()->set_seconds(60);
  const int64_t before = absl::ToUnixSeconds(absl::Now());
  const auto execution = Start(command);
  execution->MarkLost(corral::v1::Loss());
  EXPECT_GE(execution->output_expire_time()->seconds(), before + 60);
}

TEST_F(ExecutionTest, OutputIsKeptWithoutAnExpireTime) {
  const auto execution = Start();
  execution->Update(MakeRecord(Record::EXITED, 0));
  EXPECT_FALSE(execution->output_expire_time().has_value());
  EXPECT_FALSE(execution->Describe().has_output_expire_time());
}

TEST_F(ExecutionTest, InputNeverGoesBack) {
  const auto execution = Start();
  corral::v1::InputState input;
  input.set_accepted_offset(5);
  execution->UpdateInput(input);
  input.set_accepted_offset(4);
  execution->UpdateInput(input);
  EXPECT_EQ(execution->input().accepted_offset(), 5);
  input.set_accepted_offset(5);
  input.set_closed(true);
  execution->UpdateInput(input);
  EXPECT_TRUE(execution->input().closed());
}

class CountingWatcher : public ExecutionWatcher {
 public:
  void OnChange() override { ++changes; }
  int changes = 0;
};

TEST_F(ExecutionTest, CallsItsWatchersWhenOutputIsReported) {
  const auto execution = Start();
  const auto watcher = std::make_shared<CountingWatcher>();
  const auto other = std::make_shared<CountingWatcher>();
  execution->Watch(watcher);
  execution->Watch(other);
  execution->Watch(std::make_shared<CountingWatcher>());  // destroyed at once
  execution->OnOutput(MakeRecord(Record::RUNNING, 7).streams());
  EXPECT_EQ(execution->output(corral::v1::STDOUT)->end, 7);
  EXPECT_EQ(watcher->changes, 1);
  EXPECT_EQ(other->changes, 1);
  execution->Unwatch(watcher.get());
  execution->Notify();
  EXPECT_EQ(watcher->changes, 1);
  EXPECT_EQ(other->changes, 2);
}

TEST_F(ExecutionTest, KnowsItsStreamsAndItsInput) {
  EXPECT_TRUE(Start()->has_stream(corral::v1::STDERR));
  EXPECT_FALSE(Start()->has_stream(corral::v1::TERMINAL));
  EXPECT_FALSE(Start(MergedCommand())->has_stream(corral::v1::STDERR));
  EXPECT_FALSE(Start()->takes_input());
  EXPECT_FALSE(Start()->Describe().has_input());
  corral::v1::Command terminal;
  terminal.mutable_terminal()->set_rows(24);
  EXPECT_TRUE(Start(terminal)->takes_input());
  EXPECT_TRUE(Start(terminal)->Describe().has_input());
}

TEST_F(ExecutionTest, KnowsTheSizeOfItsTerminal) {
  corral::v1::Command command;
  command.mutable_terminal()->set_rows(24);
  const auto execution = Start(command);
  EXPECT_EQ(execution->terminal_size().rows(), 24);
  corral::v1::TerminalSize size;
  size.set_rows(50);
  execution->SetTerminalSize(size);
  EXPECT_EQ(execution->terminal_size().rows(), 50);
  EXPECT_EQ(execution->Describe().command().terminal().rows(), 24);
}

TEST_F(ExecutionTest, EndsAtTheTimeOfItsRecordOrOfItsCreation) {
  const absl::Time before = absl::Now();
  const auto execution = Start();
  EXPECT_GE(execution->end_time(), before - absl::Seconds(1)) << "seconds";
  EXPECT_LE(execution->end_time(), absl::Now());
  execution->Update(MakeRecord(Record::EXITED, 0));
  EXPECT_EQ(execution->end_time(), absl::FromUnixSeconds(1'000'000'000));
}

TEST_F(ExecutionTest, IsWatchedWhileAWatcherLives) {
  const auto execution = Start();
  auto watcher = std::make_shared<CountingWatcher>();
  EXPECT_FALSE(execution->watched());
  execution->Watch(watcher);
  EXPECT_TRUE(execution->watched());
  watcher.reset();
  EXPECT_FALSE(execution->watched());
}

TEST_F(ExecutionTest, ExpiresAfterTheLastWriteToAnyOfItsLogs) {
  corral::v1::Command command;
  command.mutable_output()->mutable_keep_after_end()->set_seconds(60);
  for (const wire::Stream stream : {wire::STDOUT, wire::STDERR}) {
    // More than the file of the execution holds.
    Write(&Log(stream), std::string(8192, 'x'));
  }
  for (const auto& [suffix, seconds] :
       std::map<std::string, time_t>{{"", 4'000'000'000},
                                     {".out", 6'000'000'000},
                                     {".err", 5'000'000'000}}) {
    const timespec written[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (file_path_ + suffix).c_str(), written, 0),
              0);
  }
  const auto execution = Start(command);
  EXPECT_THAT(execution->ReadLogs(), IsOk());
  execution->MarkLost(corral::v1::Loss());
  EXPECT_EQ(execution->output_expire_time()->seconds(), 6'000'000'060);
}

}  // namespace
}  // namespace server
