#include "sandbox/supervisor/output_channel.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "sandbox/output_log.h"

namespace sandbox {
namespace {

constexpr uint64_t kRetained = 1 << 16;

class OutputChannelTest : public ::testing::Test {
 protected:
  void Open(wire::Stream kind, Overflow overflow) {
    ::signal(SIGPIPE, SIG_IGN);
    std::string path = ::testing::TempDir() + "/outputXXXXXX";
    directory_ = ::mkdtemp(path.data());
    UniqueFd directory(::open(directory_.c_str(), O_PATH | O_CLOEXEC));
    absl::StatusOr<OutputLogWriter> log =
        OutputLogWriter::Create(directory.get(), "stdout");
    ASSERT_TRUE(log.ok()) << log.status();
    log->SetRetention(kRetained, overflow);
    int fds[2];
    ASSERT_EQ(::pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    command_.Reset(fds[1]);
    channel_ = std::make_unique<OutputChannel>(
        loop_.get(), kind, UniqueFd(fds[0]), *std::move(log), [this] {
          ++changes_;
          loop_->Stop();
        });
  }
  // As much as the pipe takes.
  size_t Print(const std::string& data) {
    const ssize_t taken = ::write(command_.get(), data.data(), data.size());
    return taken < 0 ? 0 : static_cast<size_t>(taken);
  }
  OutputLogReader Log() {
    return *OutputLogReader::Open(directory_ + "/stdout");
  }
  std::string Text() {
    const OutputLogReader log = Log();
    std::string text(1 << 20, '\0');
    text.resize(*log.Read(log.state().begin, text.data(), text.size()));
    return text;
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  std::string directory_;
  UniqueFd command_;
  std::unique_ptr<OutputChannel> channel_;
  int changes_ = 0;
};

TEST_F(OutputChannelTest, PutsWhatIsPrintedIntoTheLog) {
  for (const wire::Stream kind : {wire::STDOUT, wire::TERMINAL}) {
    Open(kind, Overflow::kDropOldest);
    Print(std::string("a\0b", 3));
    loop_->Run();
    EXPECT_EQ(Text(), std::string("a\0b", 3));
    EXPECT_FALSE(channel_->closed());
    command_.Reset();
    channel_->Pump();
    EXPECT_TRUE(channel_->closed());
    EXPECT_TRUE(Log().state().closed);
    channel_.reset();
    loop_ = *EventLoop::Create();
  }
}

TEST_F(OutputChannelTest, HoldsTheCommandBackUntilTheLogHasRoom) {
  Open(wire::STDOUT, Overflow::kBlock);
  size_t printed = 0;
  while (!channel_->blocked()) {
    printed += Print(std::string(1 << 16, 'x'));
    channel_->Pump();
  }
  EXPECT_EQ(Log().state().end, kRetained);
  while (const size_t more = Print(std::string(1 << 12, 'x'))) {
    printed += more;
  }
  channel_->Acknowledge(kRetained / 2);
  EXPECT_FALSE(channel_->blocked());
  channel_->Pump();
  EXPECT_EQ(Log().state().end, kRetained / 2 * 3);
  EXPECT_LT(Log().state().end, printed);
}

TEST_F(OutputChannelTest, DropsTheOldestWhenItMayNotBlock) {
  Open(wire::STDOUT, Overflow::kDropOldest);
  size_t printed = 0;
  while (printed < size_t{8} << 20) {
    printed += Print(std::string(1 << 16, 'x'));
    channel_->Pump();
  }
  EXPECT_FALSE(channel_->blocked());
  EXPECT_EQ(Log().state().end, printed);
  EXPECT_GT(Log().state().begin, 0u);
}

TEST_F(OutputChannelTest, TakesNothingAfterItIsClosed) {
  Open(wire::STDOUT, Overflow::kDropOldest);
  Print("before");
  channel_->Pump();
  channel_->Close();
  EXPECT_EQ(Print("after"), 0u);
  EXPECT_EQ(Text(), "before");
  const int changes = changes_;
  channel_->Close();
  channel_->Pump();
  EXPECT_EQ(changes_, changes);
}

}  // namespace
}  // namespace sandbox
