#include "server/screen/emulator_process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <fstream>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/program_image.h"
#include "sandbox/base/unique_fd.h"
#include "server/screen/emulator/frames.h"
#include "tests/failing_calls.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class EmulatorProcessTest : public ::testing::Test {
 protected:
  std::unique_ptr<EmulatorProcess> Start(uint32_t rows, uint32_t columns) {
    corral::v1::TerminalSize size;
    size.set_rows(rows);
    size.set_columns(columns);
    return EmulatorProcess::Start(image_, size, 0).value();
  }

  const sandbox::UniqueFd image_ = MakeEmulatorImage().value();
};

TEST_F(EmulatorProcessTest, ShowsWhatItWasGiven) {
  const auto emulator = Start(3, 20);
  EXPECT_THAT(emulator->Write("\x1b[1mhi\r\n\x1b[6n"), IsOk());
  const auto view = emulator->Get(0, /*styles=*/true, 0).value();
  EXPECT_EQ(view.screen.lines_size(), 3);
  EXPECT_EQ(view.screen.lines(0).text(), "hi");
  EXPECT_TRUE(view.screen.lines(0).runs(0).style().bold());
  EXPECT_EQ(view.answers, "\x1b[2;1R");
}

TEST_F(EmulatorProcessTest, CountsTheColumnsOfEmojiAsTheCLibraryDoes) {
  const auto emulator = Start(3, 20);
  EXPECT_THAT(emulator->Write("\xf0\x9f\x98\x80"), IsOk());
  EXPECT_EQ(emulator->Get(0, false, 0)->screen.cursor().column(), 2);
}

TEST_F(EmulatorProcessTest, ReportsThatTheProcessWasKilled) {
  const auto emulator = Start(3, 20);
  ASSERT_EQ(::kill(emulator->pid(), SIGKILL), 0);
  EXPECT_THAT(emulator->Get(0, false, 0).status(),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
}

TEST_F(EmulatorProcessTest, SaysThatTheHostHasNoMemoryForItsFilter) {
  std::unique_ptr<EmulatorProcess> emulator;
  absl::Status status;
  // The emulator inherits it.
  ASSERT_TRUE(tests::WithFailingCalls({SYS_prctl}, 524, [&] {
    emulator = Start(3, 20);
    status = emulator->Get(0, false, 0).status();
  }));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("net.core.bpf_jit_limit")));
}

TEST_F(EmulatorProcessTest, CountsOffsetsFromWhereTheOutputBegins) {
  corral::v1::TerminalSize size;
  size.set_rows(3);
  size.set_columns(20);
  const auto emulator = EmulatorProcess::Start(image_, size, 100).value();
  EXPECT_THAT(emulator->Write("\x1b[1ma\x1b[6n\x1b[5n"), IsOk());
  EXPECT_EQ(emulator->Get(0, false, 100)->answers, "\x1b[1;2R\x1b[0n");
  const auto view = emulator->Get(0, /*styles=*/false, 110).value();
  EXPECT_EQ(view.answers, "\x1b[0n");
  EXPECT_EQ(view.screen.lines(0).runs_size(), 0);
}

TEST_F(EmulatorProcessTest, CountsOutputThatIsMissing) {
  const auto emulator = Start(3, 20);
  EXPECT_THAT(emulator->Write("a"), IsOk());
  EXPECT_THAT(emulator->Skip(100), IsOk());
  EXPECT_THAT(emulator->Write("\x1b[5n"), IsOk());
  EXPECT_EQ(emulator->Get(0, false, 104)->answers, "\x1b[0n");
  EXPECT_EQ(emulator->Get(0, false, 105)->answers, "");
}

TEST_F(EmulatorProcessTest, SendsAsManyLinesOfScrollbackAsAreWanted) {
  const auto emulator = Start(2, 20);
  EXPECT_THAT(emulator->Write("1\r\n2\r\n3\r\n4\r\n5"), IsOk());
  const auto view = emulator->Get(2, false, 0).value();
  ASSERT_EQ(view.screen.scrollback_size(), 2);
  EXPECT_EQ(view.screen.scrollback(0).text(), "2");
  EXPECT_EQ(emulator->Get(0, false, 0)->screen.scrollback_size(), 0);
}

TEST_F(EmulatorProcessTest, PassesOnMoreThanOneFrameOfOutput) {
  const auto emulator = Start(3, 20);
  EXPECT_THAT(emulator->Write(std::string(screen::kMaxWrite, '\n') + "\rend"),
              IsOk());
  EXPECT_EQ(emulator->Get(0, false, 0)->screen.lines(2).text(), "end");
}

// The value of a field of /proc/PID/status.
std::string StatusOf(pid_t pid, const std::string& field) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, field + ":\t")) {
      return line.substr(field.size() + 2);
    }
  }
  return "";
}

TEST_F(EmulatorProcessTest, RunsConfinedUnderANameOfItsOwn) {
  const auto emulator = Start(3, 20);
  EXPECT_THAT(emulator->Get(0, false, 0).status(), IsOk());
  EXPECT_EQ(StatusOf(emulator->pid(), "Name"), "corral-emulator");
  EXPECT_EQ(StatusOf(emulator->pid(), "Seccomp"), "2");
  EXPECT_EQ(StatusOf(emulator->pid(), "NoNewPrivs"), "1");
  std::ifstream file(absl::StrCat("/proc/", emulator->pid(), "/oom_score_adj"));
  int score = 0;
  file >> score;
  EXPECT_EQ(score, 1000);
}

TEST_F(EmulatorProcessTest, LeavesNoProcessBehind) {
  const pid_t pid = Start(3, 20)->pid();
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(EmulatorProcessTest, LeavesNoProcessBehindThoughSignalsInterruptIt) {
  // A signal of this kind ends the call that waits.
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  for (int i = 0; i < 10; ++i) {
    // A large process, which takes its time to end.
    std::unique_ptr<EmulatorProcess> emulator = Start(64, screen::kMaxColumns);
    const pid_t pid = emulator->pid();
    EXPECT_THAT(emulator->Get(0, false, 0).status(), IsOk());
    std::atomic<bool> over = false;
    std::promise<void> began;
    std::thread signals([&, waiting = ::pthread_self()] {
      began.set_value();
      while (!over) {
        ::pthread_kill(waiting, SIGUSR1);
        std::this_thread::yield();
      }
    });
    began.get_future().wait();
    emulator.reset();
    over = true;
    signals.join();
    EXPECT_EQ(::kill(pid, 0), -1);
  }
}

TEST_F(EmulatorProcessTest, ReportsThatItCannotStart) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan, of the same build, opens a pipe to look at memory";
#endif
  corral::v1::TerminalSize size;
  size.set_rows(3);
  size.set_columns(20);
  const tests::NoDescriptors none;
  EXPECT_THAT(EmulatorProcess::Start(image_, size, 0).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
}

// A program that answers the first question with these bytes, in the form of
// printf(1), and ends.
absl::Status StatusAfterAnswer(const std::string& bytes) {
  const sandbox::UniqueFd image =
      sandbox::MakeProgramImage(
          "liar", absl::StrCat("#!/bin/sh\n/usr/bin/head -c ",
                               2 * sizeof(screen::Request), " <&3\nprintf '",
                               bytes, "' >&3\n"))
          .value();
  corral::v1::TerminalSize size;
  size.set_rows(3);
  size.set_columns(20);
  return EmulatorProcess::Start(image, size, 0)
      .value()
      ->Get(0, false, 0)
      .status();
}

TEST_F(EmulatorProcessTest, BelievesNoAnswerThatIsNone) {
  const std::string none = "\\000\\000\\000\\000";
  const std::string five = "\\005\\000\\000\\000";
  // One more than kMaxReply.
  const std::string large = "\\001\\000\\000\\004";
  const auto lost = [](const char* why) {
    return StatusIs(absl::StatusCode::kUnavailable, HasSubstr(why));
  };
  EXPECT_THAT(StatusAfterAnswer(none + none), IsOk());
  EXPECT_THAT(StatusAfterAnswer(large + none), lost("too large"));
  EXPECT_THAT(StatusAfterAnswer(none + large), lost("too large"));
  EXPECT_THAT(StatusAfterAnswer(none + five + "xxxxx"), lost("no screen"));
  EXPECT_THAT(StatusAfterAnswer(five + none + "xxxx"), lost("it has ended"));
  EXPECT_THAT(StatusAfterAnswer(none + five + "xxxx"), lost("it has ended"));
  EXPECT_THAT(StatusAfterAnswer(none), lost("it has ended"));
}

TEST_F(EmulatorProcessTest, GivesUpAProcessThatHangs) {
  const auto silent = Start(3, 20);
  const auto full = Start(3, 20);
  for (const auto* emulator : {&silent, &full}) {
    EXPECT_THAT((*emulator)->Get(0, false, 0).status(), IsOk());
    ASSERT_EQ(::kill((*emulator)->pid(), SIGSTOP), 0);
    while (StatusOf((*emulator)->pid(), "State") != "T (stopped)") {
      std::this_thread::yield();
    }
  }
  auto written = std::async(std::launch::async, [&full] {
    return full->Write(std::string(16 << 20, 'x'));
  });
  EXPECT_THAT(silent->Get(0, false, 0).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("it does not answer")));
  EXPECT_THAT(written.get(), StatusIs(absl::StatusCode::kUnavailable,
                                      HasSubstr("it takes no data")));
}

TEST_F(EmulatorProcessTest, KnowsWhichTerminalsHaveAScreen) {
  const auto has_screen = [](uint32_t rows, uint32_t columns) {
    corral::v1::TerminalSize size;
    size.set_rows(rows);
    size.set_columns(columns);
    return HasScreen(size);
  };
  EXPECT_TRUE(has_screen(1, 1));
  EXPECT_FALSE(has_screen(0, 1));
  EXPECT_FALSE(has_screen(1, 0));
  EXPECT_TRUE(has_screen(screen::kMaxRows, 1));
  EXPECT_FALSE(has_screen(screen::kMaxRows + 1, 1));
  EXPECT_TRUE(has_screen(1, screen::kMaxColumns));
  EXPECT_FALSE(has_screen(1, screen::kMaxColumns + 1));
  EXPECT_TRUE(has_screen(64, screen::kMaxScreenCells / 64));
  EXPECT_FALSE(has_screen(65, screen::kMaxScreenCells / 64));
}

TEST_F(EmulatorProcessTest, FitsTheLargestScreenIntoItsMemory) {
  const auto emulator = Start(64, screen::kMaxColumns);
  const std::string line(screen::kMaxColumns, 'x');
  for (int i = 0; i < 1200; ++i) {
    ASSERT_THAT(emulator->Write(line), IsOk());
  }
  ASSERT_THAT(emulator->Write("\x1b[?1049h" + line), IsOk());
  EXPECT_THAT(emulator->Get(1000, true, 0).status(), IsOk());
  ASSERT_THAT(emulator->Write("\x1b[?1049l"), IsOk());
  EXPECT_THAT(emulator->Get(1000, true, 0).status(), IsOk());
}

// Bytes that are random, but hold many control sequences.
std::string RandomOutput(std::mt19937* random, size_t size) {
  static constexpr char kFrequent[] =
      "\x1b\x1b\x1b[[[]P?;0123456789hlmHJKrLMST@";
  std::string output;
  while (output.size() < size) {
    const unsigned value = (*random)();
    output += value % 3 == 0
                  ? static_cast<char>(value >> 8)
                  : kFrequent[(value >> 8) % (sizeof(kFrequent) - 1)];
  }
  return output;
}

TEST_F(EmulatorProcessTest, SurvivesRandomOutputInTerminalsOfRandomSize) {
  std::mt19937 random(12);
  for (int round = 0; round < 40; ++round) {
    const auto emulator = Start(1 + random() % 60, 1 + random() % 200);
    for (int part = 0; part < 8; ++part) {
      const std::string output = RandomOutput(&random, 16 << 10);
      ASSERT_THAT(emulator->Write(output), IsOk()) << round;
      ASSERT_THAT(emulator->Clear(), IsOk());
      ASSERT_THAT(emulator->Get(1000, true, 0).status(), IsOk()) << round;
    }
  }
}

}  // namespace
}  // namespace server
