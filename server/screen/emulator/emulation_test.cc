#include "server/screen/emulator/emulation.h"

#include <sys/socket.h>
#include <unistd.h>

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
  void Send(const Request& request, const std::string& output = "") {
    ::send(ours_.get(), &request, sizeof(request), MSG_NOSIGNAL);
    ::send(ours_.get(), output.data(), output.size(), MSG_NOSIGNAL);
  }
  // Returns false at the end of the emulation.
  bool Receive(void* bytes, size_t size) {
    return ::recv(ours_.get(), bytes, size, MSG_WAITALL) ==
           static_cast<ssize_t>(size);
  }
  // Returns whether the emulation answers. It has ended if it does not.
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
  Send(Of(Action::kWrite, kMaxWrite), std::string(kMaxWrite, 'x'));
  EXPECT_TRUE(Answers());
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
