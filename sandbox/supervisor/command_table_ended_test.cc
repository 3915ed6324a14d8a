// Executions of which only the files and a trace are left.

#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/command_table.h"
#include "sandbox/supervisor/command_table_fixture.h"
#include "sandbox/supervisor/ended_command.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using ::tests::FailsWith;
using ::tests::IsOk;

class ForgottenCommandTest : public CommandTableTest {
 protected:
  // Runs a command that prints `text`. In the end it is forgotten.
  void RunAndForget(const std::string& id, const std::string& text = "text") {
    start_.set_id(id);
    RunOpen();
    Print(text);
    Exit(3);
    timers_.Advance(absl::Milliseconds(1));
    table_.OnSynced(directory_ + "/" + id);
  }
  // Runs the command without an end.
  void RunOpen() {
    answers_.clear();
    table_.Start(start_, Answer());
    played_.Receive();
    played_.Succeed();
    RunLoop();
    ASSERT_THAT(answers_, ElementsAre(IsOk()));
    answers_.clear();
  }
  // Does what the background was given, and tells the loop.
  void Work() {
    while (!background_.empty()) {
      Background::Function function = std::move(background_.front());
      background_.pop_front();
      function();
    }
    RunLoop();
  }
  void AskAndWork() {
    AskForReports();
    Work();
  }
  std::vector<std::string> Reported() {
    std::vector<std::string> ids;
    for (const wire::ExecutionRecord& report : snapshot_->executions()) {
      ids.push_back(report.id());
    }
    return ids;
  }
  // A directory in the place of a file: the file cannot be read.
  void Obstruct(const std::string& id) {
    const std::string path = directory_ + "/" + id;
    std::filesystem::rename(path, path + ".away");
    std::filesystem::create_directory(path);
  }
  void Restore(const std::string& id) {
    const std::string path = directory_ + "/" + id;
    std::filesystem::remove(path);
    std::filesystem::rename(path + ".away", path);
  }
};

TEST_F(ForgottenCommandTest, IsReportedAsItWas) {
  start_.mutable_request()->set_request_id("r1");
  spec().set_open_stdin(true);
  RunAndForget("e1");
  AskForReports();
  EXPECT_FALSE(snapshot_.has_value()) << "it was not forgotten";
  Work();
  ASSERT_EQ(snapshot_->executions_size(), 1);
  EXPECT_EQ(snapshot_->executions(0).SerializeAsString(),
            end().SerializeAsString());
  EXPECT_EQ(snapshot_->executions(0).request().request_id(), "r1");
  EXPECT_TRUE(snapshot_->executions(0).input().closed());
  EXPECT_EQ(snapshot_->executions(0).streams(0).end(), 4u);
}

TEST_F(ForgottenCommandTest, IsRememberedUntilItsEndIsSynced) {
  RunOne();
  EXPECT_EQ(Reports().executions_size(), 1) << "it was forgotten";
  table_.OnSynced(directory_ + "/e1");
  AskForReports();
  EXPECT_FALSE(snapshot_.has_value());
}

TEST_F(ForgottenCommandTest, MayBeSyncedBeforeNothingOfItIsLeft) {
  StartOne();
  group_.pids = {1};
  Exit(0);
  timers_.Advance(absl::Milliseconds(1));
  table_.OnSynced(directory_ + "/e1");
  EXPECT_EQ(Reports().executions_size(), 1);
  group_.pids.clear();
  table_.OnEnd("e1");
  timers_.Advance(absl::Milliseconds(1));
  AskForReports();
  EXPECT_FALSE(snapshot_.has_value());
}

TEST_F(ForgottenCommandTest, IsRememberedIfItsRecordLacksLateOutput) {
  StartOne();
  played_.Exit(0);
  RunLoop();
  timers_.Advance(absl::Minutes(1));
  RunLoop();
  ASSERT_TRUE(end().exit().output_open());
  Print("late");
  CloseOutput();
  RunLoop();
  table_.OnEnd("e1");
  timers_.Advance(absl::Milliseconds(1));
  ASSERT_TRUE(IsShrunk());
  table_.OnSynced(directory_ + "/e1");
  EXPECT_EQ(Reports().executions(0).streams(0).end(), 4u);
}

TEST_F(ForgottenCommandTest, KeepsItsId) {
  RunAndForget("e1");
  table_.Start(start_, Answer());
  EXPECT_THAT(answers_,
              ElementsAre(FailsWith(wire::Reply::EXECUTION_EXISTS, _)));
}

TEST_F(ForgottenCommandTest, AnswersLikeOneThatIsRemembered) {
  RunAndForget("e1");
  auto* const found = std::get<EndedCommand*>(*table_.Find("e1"));
  EXPECT_THAT(found->Signal(SignalOf(9, wire::Signal::TREE)),
              FailsWith(wire::Reply::EXECUTION_ENDED, _));
  EXPECT_EQ(Reports().executions_size(), 1);
  EXPECT_THAT(table_.Find("e2").status(),
              FailsWith(wire::Reply::NO_SUCH_EXECUTION, HasSubstr("e2")));
  timers_.Advance(absl::Milliseconds(200));
  AskForReports();
  EXPECT_FALSE(snapshot_.has_value()) << "it was not forgotten again";
}

TEST_F(ForgottenCommandTest, IsNotDeniedWhileItsFileCannotBeRead) {
  RunAndForget("e1");
  Obstruct("e1");
  EXPECT_THAT(table_.Find("e1").status(),
              FailsWith(wire::Reply::SHORTAGE, HasSubstr("cannot be read")));
  Restore("e1");
  EXPECT_TRUE(Exists());
}

TEST_F(ForgottenCommandTest, LeavesNothingWhenItIsDeleted) {
  RunAndForget("e1", std::string(size_t{64} << 10, 'x'));
  table_.Delete("e1", Answer());
  RunLoop();
  EXPECT_THAT(answers_, ElementsAre(IsOk()));
  EXPECT_FALSE(Exists());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/e1"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/e1.out"));
  EXPECT_EQ(Reports().executions_size(), 0);
}

TEST_F(ForgottenCommandTest, IsDeletedThoughItsFileCannotBeRead) {
  RunAndForget("e1", std::string(size_t{64} << 10, 'x'));
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pread64}, EIO, [&] {
    table_.Delete("e1", Answer());
    RunLoop();
  }));
  EXPECT_THAT(answers_, ElementsAre(IsOk()));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/e1"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/e1.out"));
  EXPECT_EQ(Reports().executions_size(), 0);
}

TEST_F(ForgottenCommandTest, GivesItsSpaceBackInTheOrderOfTheEnds) {
  quota_.SetEarlier([this] { return table_.ExpireForgotten(); });
  quota_.SetLimit(1 << 20);
  spec().set_retain_bytes(1 << 20);
  const std::string text(size_t{64} << 10, 'x');
  for (const char* id : {"e2", "e3", "e1"}) {
    RunAndForget(id, text);
  }
  EXPECT_EQ(quota_.MakeRoom(nullptr), (1u << 20) - 3 * (64u << 10));
  // Two of them must go.
  quota_.Charge((1 << 20) - 2 * (64 << 10));
  quota_.MakeRoom(nullptr);
  const auto expired = [this](const std::string& id) {
    return OutputLogReader::Open(directory_ + "/" + id, wire::STDOUT)
        ->state()
        ->expired;
  };
  EXPECT_TRUE(expired("e2"));
  EXPECT_TRUE(expired("e3"));
  EXPECT_FALSE(expired("e1"));
  EXPECT_EQ(output_.execution_id(), "e3");
  EXPECT_TRUE(output_.streams(0).expired());
  // All that was forgotten was charged, and is not when it is deleted.
  timers_.Advance(absl::Milliseconds(200));
  for (const char* id : {"e1", "e2", "e3"}) {
    table_.Delete(id, Answer());
  }
  RunLoop();
  quota_.Charge(-(1 << 20) + 2 * (64 << 10));
  EXPECT_EQ(quota_.MakeRoom(nullptr), 1u << 20);
}

TEST_F(ForgottenCommandTest, IsReportedOnceItsFileCanBeRead) {
  RunAndForget("e1");
  RunAndForget("e2");
  Obstruct("e1");
  AskAndWork();
  EXPECT_FALSE(snapshot_.has_value()) << "a server would deny e1";
  EXPECT_THAT(storage_.failure(), HasSubstr("records of ended"));
  timers_.Advance(absl::Milliseconds(200));
  Work();
  EXPECT_FALSE(snapshot_.has_value());
  Restore("e1");
  timers_.Advance(absl::Milliseconds(200));
  Work();
  ASSERT_TRUE(snapshot_.has_value());
  EXPECT_THAT(Reported(), UnorderedElementsAre("e1", "e2"));
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(ForgottenCommandTest, IsReportedOnceTheDirectoryCanBeListed) {
  RunAndForget("e1");
  std::filesystem::rename(directory_, directory_ + ".away");
  AskAndWork();
  EXPECT_FALSE(snapshot_.has_value());
  std::filesystem::rename(directory_ + ".away", directory_);
  timers_.Advance(absl::Milliseconds(200));
  Work();
  EXPECT_THAT(Reported(), ElementsAre("e1"));
}

TEST_F(ForgottenCommandTest, IsReportedWithAllThatChangedWhileItWasRead) {
  for (const char* id : {"deleted", "again", "kept", "unreadable"}) {
    RunAndForget(id);
  }
  Obstruct("unreadable");
  AskAndWork();
  ASSERT_FALSE(snapshot_.has_value());
  // The others are read already.
  table_.Delete("deleted", Answer());
  table_.Delete("again", Answer());
  RunLoop();
  start_.mutable_request()->set_request_id("second");
  RunAndForget("again");
  RunAndForget("new");
  Restore("unreadable");
  timers_.Advance(absl::Milliseconds(200));
  Work();
  ASSERT_TRUE(snapshot_.has_value());
  EXPECT_THAT(Reported(),
              UnorderedElementsAre("again", "kept", "new", "unreadable"));
  for (const wire::ExecutionRecord& report : snapshot_->executions()) {
    const bool is_later = report.id() == "again" || report.id() == "new";
    EXPECT_EQ(report.request().request_id(), is_later ? "second" : "")
        << report.id();
  }
  // Those that ended meanwhile are forgotten now.
  timers_.Advance(absl::Milliseconds(200));
  AskAndWork();
  EXPECT_THAT(Reported(),
              UnorderedElementsAre("again", "kept", "new", "unreadable"));
}

TEST_F(ForgottenCommandTest, IsReportedOnceToTheServerThatCameLast) {
  RunAndForget("e1");
  int first = 0;
  table_.Report([&first](const wire::Snapshot&) { ++first; });
  AskAndWork();
  EXPECT_EQ(first, 0);
  EXPECT_THAT(Reported(), ElementsAre("e1"));
}

TEST_F(ForgottenCommandTest, IsReportedToNobodyOnceTheSandboxHasFailed) {
  RunAndForget("e1");
  AskForReports();
  background_.front()();
  table_.Clear();
  RunLoop();
  EXPECT_FALSE(snapshot_.has_value());
  EXPECT_EQ(Reports().executions_size(), 0);
}

}  // namespace
}  // namespace sandbox
