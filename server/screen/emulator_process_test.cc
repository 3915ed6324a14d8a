#include "server/screen/emulator_process.h"

#include <signal.h>

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

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
