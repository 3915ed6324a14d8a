#include "server/screen/emulator/emulation.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "corral/v1/screen.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "server/screen/emulator/frames.h"

namespace screen {
namespace {

using sandbox::UniqueFd;

// An emulation on a thread, with the other end of its socket.
class EmulationTest : public ::testing::Test {
 protected:
  EmulationTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_.Reset(ends[0]);
    emulation_ = std::thread([theirs = ends[1]] {
      const UniqueFd socket(theirs);
      Emulate(socket.get());
    });
  }
  ~EmulationTest() override {
    ours_.Reset();
    emulation_.join();
  }

  static Request Begin(uint32_t rows, uint32_t columns) {
    Request request = {};
    request.action = Action::kBegin;
    request.rows = rows;
    request.columns = columns;
    request.offset = 100;
    return request;
  }
  static Request Of(Action action, uint32_t size = 0) {
    Request request = {};
    request.action = action;
    request.size = size;
    return request;
  }
  // A full line of the widest screen.
  static std::string Line(int number) {
    return std::string(kMaxColumns, static_cast<char>('!' + number % 64));
  }
  void Send(const Request& request, const std::string& output = "") {
    ::send(ours_.get(), &request, sizeof(request), MSG_NOSIGNAL);
    ::send(ours_.get(), output.data(), output.size(), MSG_NOSIGNAL);
  }
  // Returns false at the end of the emulation.
  bool Receive(void* bytes, size_t size) {
    return ::recv(ours_.get(), bytes, size, MSG_WAITALL) ==
           static_cast<ssize_t>(size);
  }
  // Returns true if the emulation answers. It has ended if it does not.
  bool Answers() {
    Request get = Of(Action::kGet);
    get.scrollback_lines = 10;
    Send(get);
    Reply reply = {};
    if (!Receive(&reply, sizeof(reply))) {
      return false;
    }
    answers_.resize(reply.answers_size);
    std::string screen(reply.screen_size, '\0');
    return Receive(answers_.data(), answers_.size()) &&
           Receive(screen.data(), screen.size()) &&
           screen_.ParseFromString(screen);
  }

  UniqueFd ours_;
  std::thread emulation_;
  std::string answers_;
  corral::v1::Screen screen_;
};

TEST_F(EmulationTest, ShowsWhatWasWrittenAndCleared) {
  Send(Begin(3, 20));
  Send(Of(Action::kWrite, 9), "a\r\nb\x1b[5n\n");
  ASSERT_TRUE(Answers());
  EXPECT_EQ(screen_.lines(0).text(), "a");
  EXPECT_EQ(screen_.end_offset(), 109);
  EXPECT_EQ(answers_, "\x1b[0n");
  EXPECT_EQ(screen_.lines(0).runs_size(), 0);
  Send(Of(Action::kClear));
  ASSERT_TRUE(Answers());
  EXPECT_EQ(screen_.lines(0).text(), "");
}

TEST_F(EmulationTest, CountsOutputThatIsMissing) {
  Send(Begin(3, 20));
  Send(Of(Action::kWrite, 1), "a");
  Request skip = Of(Action::kSkip);
  skip.offset = 50;
  Send(skip);
  Send(Of(Action::kWrite, 1), "b");
  ASSERT_TRUE(Answers());
  EXPECT_EQ(screen_.lines(0).text(), "ab");
  EXPECT_EQ(screen_.end_offset(), 152);
}

TEST_F(EmulationTest, EndsWithARequestBeforeTheBeginning) {
  EXPECT_FALSE(Answers());
}

TEST_F(EmulationTest, BeginsOnce) {
  Send(Begin(3, 20));
  Send(Begin(3, 20));
  EXPECT_FALSE(Answers());
}

TEST_F(EmulationTest, TakesTheLargestScreen) {
  Send(Begin(64, kMaxColumns));
  EXPECT_TRUE(Answers());
}

TEST_F(EmulationTest, TakesTheHighestScreen) {
  Send(Begin(kMaxRows, 128));
  EXPECT_TRUE(Answers());
}

TEST_F(EmulationTest, TakesTheLargestWrite) {
  Send(Begin(3, 20));
  Send(Of(Action::kWrite, kMaxWrite),
       std::string(kMaxWrite - 5, 'x') + "\r\nend");
  ASSERT_TRUE(Answers());
  EXPECT_EQ(screen_.lines(2).text(), "end");
}

TEST_F(EmulationTest, GoesOnWithAnAnswerThatSignalsInterrupt) {
  // A write returns what it has written so far, as in a process that is stopped
  // and goes on.
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
  constexpr int kLines = 192;
  constexpr int kRows = 64;
  Send(Begin(kRows, kMaxColumns));
  for (int line = 0; line < kLines; ++line) {
    Send(Of(Action::kWrite, kMaxColumns), Line(line));
  }
  Request get = Of(Action::kGet);
  get.scrollback_lines = kLines;
  Send(get);
  Reply reply = {};
  ASSERT_TRUE(Receive(&reply, sizeof(reply)));
  // The rest is more than the socket holds.
  std::string answer(reply.answers_size + reply.screen_size, '\0');
  for (size_t at = 0; at < answer.size();) {
    const size_t size = std::min<size_t>(1000, answer.size() - at);
    ::pthread_kill(emulation_.native_handle(), SIGUSR1);
    ASSERT_TRUE(Receive(&answer[at], size));
    at += size;
  }
  ASSERT_TRUE(screen_.ParseFromString(answer));
  ASSERT_EQ(screen_.scrollback_size() + screen_.lines_size(), kLines);
  for (int line = 0; line < kLines; ++line) {
    const int above = screen_.scrollback_size();
    EXPECT_EQ(line < above ? screen_.scrollback(line).text()
                           : screen_.lines(line - above).text(),
              Line(line));
  }
}

TEST_F(EmulationTest, EndsWhenNobodyTakesItsAnswer) {
  const auto former = ::signal(SIGPIPE, SIG_IGN);
  Send(Begin(3, 20));
  ASSERT_EQ(::shutdown(ours_.get(), SHUT_RD), 0);
  Send(Of(Action::kGet));
  // Hangs up at its end. Only a failure takes the minute.
  pollfd end = {ours_.get(), 0, 0};
  EXPECT_EQ(::poll(&end, 1, 60'000), 1);
  ::signal(SIGPIPE, former);
}

TEST_F(EmulationTest, EndsWithAWriteThatIsTooLarge) {
  Send(Begin(3, 20));
  Send(Of(Action::kWrite, kMaxWrite + 1));
  EXPECT_FALSE(Answers());
}

TEST_F(EmulationTest, EndsWithARequestThatItDoesNotKnow) {
  Send(Begin(3, 20));
  Send(Of(static_cast<Action>(9)));
  EXPECT_FALSE(Answers());
}

class EmulationSizeTest : public EmulationTest,
                          public ::testing::WithParamInterface<Request> {
 public:
  static Request Size(uint32_t rows, uint32_t columns) {
    return Begin(rows, columns);
  }
};

TEST_P(EmulationSizeTest, EndsWithASizeThatHasNoScreen) {
  Send(GetParam());
  EXPECT_FALSE(Answers());
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, EmulationSizeTest,
    ::testing::Values(EmulationSizeTest::Size(0, 20),
                      EmulationSizeTest::Size(3, 0),
                      EmulationSizeTest::Size(kMaxRows + 1, 1),
                      EmulationSizeTest::Size(1, kMaxColumns + 1),
                      EmulationSizeTest::Size(65, kMaxColumns)));

}  // namespace
}  // namespace screen
