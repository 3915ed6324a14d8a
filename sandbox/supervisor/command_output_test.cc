#include "sandbox/supervisor/command_output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/terminal_times.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/output_channel.h"
#include "sandbox/supervisor/output_quota.h"
#include "sandbox/supervisor/storage_status.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/fakes/fake_timers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::FailsWith;
using ::tests::IsOk;

constexpr uint64_t kRetained = OutputLogWriter::kMinRetained;

class CommandOutputTest : public ::testing::Test {
 protected:
  CommandOutputTest() {
    std::string path = ::testing::TempDir() + "/outputXXXXXX";
    files_ = *ExecutionFiles::Create(::mkdtemp(path.data()), "e1");
    MakeOutput();
  }
  void MakeOutput() {
    CommandOutput::Callbacks callbacks;
    callbacks.changed = [this] { ++changes_; };
    callbacks.must_kill = [](wire::ExitRecord::Cause) {};
    callbacks.drained = [this](bool left_open) {
      drained_.push_back(left_open);
    };
    output_ = std::make_unique<CommandOutput>(
        OutputHost{loop_.get(), &timers_, &storage_, &quota_}, &files_,
        std::move(callbacks));
  }
  // Returns the command's end of the stream.
  UniqueFd Add(wire::Stream kind, Overflow overflow = Overflow::kBlock) {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    OutputLogWriter log = files_.Log(kind);
    log.SetRetention(kRetained, overflow);
    output_->Add(kind, UniqueFd(fds[0]), std::move(log));
    return UniqueFd(fds[1]);
  }
  static void Print(const UniqueFd& stream, absl::string_view text) {
    ASSERT_EQ(::write(stream.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  void RunLoop() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }
  wire::StreamState StateOf(wire::Stream kind) const {
    wire::ExecutionRecord record;
    output_->AddStates(record.mutable_streams());
    for (const wire::StreamState& state : record.streams()) {
      if (state.stream() == kind) {
        return state;
      }
    }
    return wire::StreamState();
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  tests::FakeTimers timers_;
  StorageStatus storage_{[] {}};
  OutputQuota quota_{loop_.get()};
  ExecutionFiles files_;
  int changes_ = 0;
  std::vector<bool> drained_;
  std::unique_ptr<CommandOutput> output_;
};

TEST_F(CommandOutputTest, IsDrainedAtOnceIfEverythingWasClosedBefore) {
  UniqueFd out = Add(wire::STDOUT);
  Print(out, "a");
  out.Reset();
  RunLoop();
  EXPECT_EQ(changes_, 1);
  EXPECT_THAT(drained_, IsEmpty());
  output_->Drain(absl::Seconds(1));
  EXPECT_THAT(drained_, ElementsAre(false));
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(drained_.size(), 1u);
}

TEST_F(CommandOutputTest, TakesWhatIsReadyBeforeItIsDrained) {
  UniqueFd out = Add(wire::STDOUT);
  UniqueFd error = Add(wire::STDERR);
  Print(out, "a");
  Print(error, "bc");
  out.Reset();
  error.Reset();
  output_->Drain(absl::Seconds(1));
  EXPECT_THAT(drained_, ElementsAre(false));
  EXPECT_EQ(StateOf(wire::STDOUT).end(), 1u);
  EXPECT_EQ(StateOf(wire::STDERR).end(), 2u);
}

TEST_F(CommandOutputTest, WaitsForTheLastStreamToClose) {
  UniqueFd out = Add(wire::STDOUT);
  UniqueFd error = Add(wire::STDERR);
  output_->Drain(absl::Seconds(1));
  out.Reset();
  RunLoop();
  EXPECT_THAT(drained_, IsEmpty());
  error.Reset();
  RunLoop();
  EXPECT_THAT(drained_, ElementsAre(false));
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(CommandOutputTest, IsLeftOpenAfterTheLimitAndMayCloseLater) {
  UniqueFd out = Add(wire::STDOUT);
  output_->Drain(absl::Seconds(1));
  timers_.Advance(absl::Seconds(1) - absl::Nanoseconds(1));
  EXPECT_THAT(drained_, IsEmpty());
  timers_.Advance(absl::Nanoseconds(1));
  EXPECT_THAT(drained_, ElementsAre(true));
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(drained_.size(), 1u);
  out.Reset();
  RunLoop();
  EXPECT_THAT(drained_, ElementsAre(true, false));
}

TEST_F(CommandOutputTest, TakesWhatIsReadyAtTheLimit) {
  UniqueFd out = Add(wire::STDOUT);
  output_->Drain(absl::Seconds(1));
  Print(out, "last");
  out.Reset();
  timers_.Advance(absl::Seconds(1));
  EXPECT_THAT(drained_, ElementsAre(false));
  EXPECT_EQ(StateOf(wire::STDOUT).end(), 4u);
}

TEST_F(CommandOutputTest, IsOverdueWhileAStreamWaitsForRoom) {
  UniqueFd out = Add(wire::STDOUT);
  Print(out, std::string(kRetained, 'x'));
  output_->Drain(absl::ZeroDuration());
  timers_.Advance(absl::ZeroDuration());
  // A full log is looked at again every 50 ms at least.
  timers_.Advance(absl::Milliseconds(49));
  EXPECT_THAT(drained_, IsEmpty());
  // Does not help: the log is full, and the disk works.
  output_->IgnoreDisk();
  EXPECT_THAT(drained_, IsEmpty());
  output_->Acknowledge(wire::STDERR, kRetained);
  timers_.Advance(absl::Milliseconds(50));
  EXPECT_THAT(drained_, IsEmpty());
  output_->Acknowledge(wire::STDOUT, kRetained);
  timers_.Advance(absl::Milliseconds(50));
  EXPECT_THAT(drained_, ElementsAre(true));
}

TEST_F(CommandOutputTest, IsOverdueWhileTheDiskRefuses) {
  for (const bool ignored_before : {false, true}) {
    drained_.clear();
    UniqueFd out = Add(ignored_before ? wire::STDERR : wire::STDOUT);
    Print(out, "text");
    ASSERT_TRUE(tests::WithFailingCalls({SYS_splice}, ENOSPC, [&] {
      if (ignored_before) {
        output_->IgnoreDisk();
      }
      output_->Drain(absl::Seconds(1));
      EXPECT_TRUE(output_->refused());
      EXPECT_EQ(output_->loss(), wire::ExitRecord::OUTPUT_FAILED);
      timers_.Advance(absl::Seconds(1));
      EXPECT_EQ(drained_.size(), ignored_before ? 1u : 0u);
      timers_.Advance(absl::Seconds(5));
      EXPECT_EQ(drained_.size(), ignored_before ? 1u : 0u);
      output_->IgnoreDisk();
    }));
    EXPECT_THAT(drained_, ElementsAre(true));
    // The disk recovers, and nothing was lost.
    timers_.Advance(absl::Seconds(1));
    EXPECT_FALSE(output_->refused());
    EXPECT_FALSE(output_->loss().has_value());
    MakeOutput();
  }
}

TEST_F(CommandOutputTest, DiscardsWhatADescendantMayStillWrite) {
  const UniqueFd out = Add(wire::STDOUT);
  Print(out, "text");
  output_->Drain(absl::Seconds(1));
  Print(out, ", more");
  output_->Discard();
  EXPECT_THAT(drained_, ElementsAre(false));
  EXPECT_EQ(StateOf(wire::STDOUT).end(), 10u) << "what is ready is kept";
  EXPECT_TRUE(StateOf(wire::STDOUT).closed());
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(::write(out.get(), "x", 1), -1);
}

TEST_F(CommandOutputTest, ClosesWithoutBeingDrainedIfTheCommandNeverRan) {
  const UniqueFd out = Add(wire::STDOUT);
  output_->Close();
  EXPECT_TRUE(StateOf(wire::STDOUT).closed());
  EXPECT_THAT(drained_, IsEmpty());
}

TEST_F(CommandOutputTest, FindsTheOpenTerminalAndResizesIt) {
  const auto none =
      FailsWith(wire::Reply::NOT_A_TERMINAL, HasSubstr("terminal"));
  UniqueFd out = Add(wire::STDOUT);
  EXPECT_THAT(output_->terminal().status(), none);
  UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!master.valid()) {
    GTEST_SKIP() << "this host gives no terminal";
  }
  const UniqueFd same(::dup(master.get()));
  // Any log will do.
  output_->Add(wire::TERMINAL, std::move(master), files_.Log(wire::STDERR));
  EXPECT_THAT(output_->ResizeTerminal(50, 100), IsOk());
  winsize size = {};
  ASSERT_EQ(::ioctl(same.get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 50);
  EXPECT_EQ(size.ws_col, 100);
  output_->Close();
  EXPECT_THAT(output_->ResizeTerminal(50, 100), none);
}

TEST_F(CommandOutputTest, ExpiresWhatHasEndedWhenSpaceIsShort) {
  quota_.SetLimit(1 << 20);
  UniqueFd out = Add(wire::STDOUT);
  Print(out, "text");
  out.Reset();
  output_->Drain(absl::Seconds(1));
  output_->Settle();
  EXPECT_FALSE(StateOf(wire::STDOUT).expired());
  quota_.Charge(1 << 20);
  ASSERT_TRUE(tests::WithFailingCalls({SYS_fallocate}, EIO,
                                      [&] { quota_.MakeRoom(nullptr); }));
  EXPECT_FALSE(StateOf(wire::STDOUT).expired());
  timers_.Advance(absl::Milliseconds(200));
  EXPECT_TRUE(StateOf(wire::STDOUT).expired());
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(CommandOutputTest, ExpiresAStreamLaterThatIsNotTheLast) {
  quota_.SetLimit(1 << 20);
  for (const wire::Stream kind : {wire::STDOUT, wire::STDERR}) {
    const UniqueFd stream = Add(kind);
    Print(stream, "text");
  }
  output_->Drain(absl::Seconds(1));
  output_->Settle();
  // In the place of the file with the rest, it cannot be opened as one.
  const std::string obstacle = files_.path() + ".out";
  ASSERT_EQ(::mkdir(obstacle.c_str(), 0700), 0);
  quota_.Charge(1 << 20);
  quota_.MakeRoom(nullptr);
  EXPECT_FALSE(StateOf(wire::STDOUT).expired());
  EXPECT_TRUE(StateOf(wire::STDERR).expired());
  ASSERT_EQ(::rmdir(obstacle.c_str()), 0);
  timers_.Advance(absl::Milliseconds(200));
  EXPECT_TRUE(StateOf(wire::STDOUT).expired());
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(CommandOutputTest, IsForgottenByTheQuotaWhenItIsDestroyed) {
  quota_.SetLimit(1);
  output_->Settle();
  output_.reset();
  quota_.Charge(2);
  quota_.MakeRoom(nullptr);
}

TEST_F(CommandOutputTest, NotesWhenATerminalWritesUntilThatExpires) {
  quota_.SetLimit(1 << 20);
  // A pipe stands for the terminal.
  UniqueFd terminal = Add(wire::TERMINAL);
  output_->NoteStart(1);
  Print(terminal, "text");
  RunLoop();
  const auto times = ReadTerminalTimes(files_.path(), 0, 10);
  ASSERT_THAT(times.status(), IsOk());
  EXPECT_EQ(times->size(), 1u);
  terminal.Reset();
  output_->Drain(absl::Seconds(1));
  output_->Settle();
  quota_.Charge(1 << 20);
  quota_.MakeRoom(nullptr);
  EXPECT_TRUE(
      absl::IsNotFound(ReadTerminalTimes(files_.path(), 0, 10).status()));
}

TEST_F(CommandOutputTest, NotesNoTimesWithoutATerminal) {
  const UniqueFd out = Add(wire::STDOUT);
  output_->NoteStart(7);
  Print(out, "text");
  RunLoop();
  EXPECT_TRUE(
      absl::IsNotFound(ReadTerminalTimes(files_.path(), 0, 10).status()));
  EXPECT_EQ(OutputLogReader::Open(files_.path(), wire::STDOUT)
                ->state()
                ->start_time_ns,
            7);
}

TEST_F(CommandOutputTest, NotesTheSizesOfATerminal) {
  UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!master.valid()) {
    GTEST_SKIP() << "this host gives no terminal";
  }
  output_->Add(wire::TERMINAL, std::move(master), files_.Log(wire::TERMINAL));
  output_->NoteStart(1);
  EXPECT_THAT(output_->ResizeTerminal(50, 100), IsOk());
  const auto times = ReadTerminalTimes(files_.path(), 0, 10);
  ASSERT_THAT(times.status(), IsOk());
  ASSERT_EQ(times->size(), 1u);
  EXPECT_EQ(times->front().rows, 50u);
  EXPECT_EQ(times->front().columns, 100u);
}

TEST_F(CommandOutputTest, ReleasesItsLogsOnceItIsSettled) {
  const UniqueFd out = Add(wire::STDOUT);
  Print(out, std::string(kRetained, 'x'));
  output_->Drain(absl::Seconds(1));
  output_->Discard();
  EXPECT_THAT(drained_, ElementsAre(false));
  output_->Settle();
  const int changes = changes_;
  // Would drop what is acknowledged from a log that is not released.
  output_->Acknowledge(wire::STDOUT, kRetained);
  EXPECT_EQ(StateOf(wire::STDOUT).begin(), 0u);
  EXPECT_EQ(changes_, changes);
}

}  // namespace
}  // namespace sandbox
