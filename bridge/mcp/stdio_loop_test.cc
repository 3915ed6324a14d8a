#include "bridge/mcp/stdio_loop.h"

#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"

namespace bridge {
namespace {

class StdioLoopTest : public ::testing::Test {
 protected:
  StdioLoopTest() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    input_ = sandbox::UniqueFd(ends[0]);
    client_ = sandbox::UniqueFd(ends[1]);
  }
  void Write(const std::string& bytes) {
    EXPECT_EQ(::write(client_.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  StdioLoop::End Run() {
    return StdioLoop::Create(input_.get())->Run([this](absl::string_view line) {
      lines_.emplace_back(line);
      if (line == "stop") {
        ::kill(::getpid(), SIGTERM);
      }
    });
  }

  sandbox::UniqueFd input_;
  sandbox::UniqueFd client_;
  std::vector<std::string> lines_;
};

using Lines = std::vector<std::string>;

TEST_F(StdioLoopTest, SplitsTheInputIntoLines) {
  Write("one\n\ntwo\nrest");
  client_.Reset();
  EXPECT_EQ(Run(), StdioLoop::End::kEndOfInput);
  EXPECT_EQ(lines_, (Lines{"one", "", "two", "rest"}));
}

TEST_F(StdioLoopTest, JoinsALineThatComesInPieces) {
  const std::string line(200'000, 'x');
  std::thread client([&] {
    tests::WriteAll(client_.get(), line + "\nnext\n");
    client_.Reset();
  });
  EXPECT_EQ(Run(), StdioLoop::End::kEndOfInput);
  client.join();
  EXPECT_TRUE(lines_ == (Lines{line, "next"}));
}

TEST_F(StdioLoopTest, HoldsBackTheSignalsThatEndIt) {
  ASSERT_TRUE(StdioLoop::Create(input_.get()).ok());
  sigset_t blocked;
  ASSERT_EQ(::sigprocmask(SIG_BLOCK, nullptr, &blocked), 0);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    EXPECT_EQ(::sigismember(&blocked, signal), 1) << signal;
  }
  struct sigaction action = {};
  ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_IGN);
}

TEST_F(StdioLoopTest, CutsALineThatIsTooLong) {
  std::thread client([&] {
    const std::string piece(1 << 20, 'x');
    for (size_t sent = 0; sent <= StdioLoop::kMaxLine; sent += piece.size()) {
      tests::WriteAll(client_.get(), piece);
    }
    tests::WriteAll(client_.get(), "rest\nnext\n");
    client_.Reset();
  });
  EXPECT_EQ(Run(), StdioLoop::End::kEndOfInput);
  client.join();
  EXPECT_EQ(lines_, (Lines{std::string(100, 'x'), "next"}));
}

// The signal stays pending in this process, so this is the last test.
TEST_F(StdioLoopTest, EndsWithASignal) {
  Write("stop\n");
  EXPECT_EQ(Run(), StdioLoop::End::kSignal);
}

}  // namespace
}  // namespace bridge
