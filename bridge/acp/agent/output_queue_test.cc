#include "bridge/acp/agent/output_queue.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::sandbox::UniqueFd;
using ::tests::IsOk;

class OutputQueueTest : public ::testing::Test {
 protected:
  OutputQueueTest() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader_.Reset(ends[0]);
    writer_.Reset(ends[1]);
  }

  std::string Read() {
    std::string bytes(1 << 20, 0);
    const ssize_t size = ::read(reader_.get(), bytes.data(), bytes.size());
    return bytes.substr(0, size < 0 ? 0 : size);
  }

  UniqueFd reader_;
  UniqueFd writer_;
  OutputQueue queue_;
};

TEST_F(OutputQueueTest, WritesInOrder) {
  queue_.Push("a");
  queue_.Push("");
  queue_.Push("bc");
  EXPECT_EQ(queue_.size(), 3u);
  EXPECT_THAT(queue_.WriteTo(writer_.get()), IsOk());
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(Read(), "abc");
}

TEST_F(OutputQueueTest, DoesNotBlockOnAReaderThatDoesNotRead) {
  std::string all;
  for (int i = 0; i < 100'000; ++i) {
    all += std::to_string(i) + "\n";
  }
  queue_.Push(all);
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(queue_.WriteTo(writer_.get()), IsOk());
  }
  EXPECT_FALSE(queue_.empty());
  std::string read;
  while (!queue_.empty()) {
    read += Read();
    EXPECT_THAT(queue_.WriteTo(writer_.get()), IsOk());
  }
  writer_.Reset();
  for (std::string rest = Read(); !rest.empty(); rest = Read()) {
    read += rest;
  }
  EXPECT_EQ(read, all);
}

TEST_F(OutputQueueTest, WritesAtMost256KiBAtATime) {
  constexpr int kPipeBytes = 1 << 20;
  ASSERT_EQ(::fcntl(writer_.get(), F_SETPIPE_SZ, kPipeBytes), kPipeBytes);
  queue_.Push(std::string(300 << 10, 'x'));
  EXPECT_THAT(queue_.WriteTo(writer_.get()), IsOk());
  EXPECT_EQ(queue_.size(), 44 << 10);
}

TEST_F(OutputQueueTest, ForgetsTheRestOfWhatItHasBegunToWrite) {
  queue_.Push(std::string(1 << 20, 'x'));
  EXPECT_THAT(queue_.WriteTo(writer_.get()), IsOk());
  EXPECT_FALSE(queue_.empty());
  queue_.Clear();
  EXPECT_TRUE(queue_.empty());
  Read();
  queue_.Push("abc");
  EXPECT_THAT(queue_.WriteTo(writer_.get()), IsOk());
  EXPECT_EQ(Read(), "abc");
}

TEST_F(OutputQueueTest, FailsWhenTheReaderIsGone) {
  ::signal(SIGPIPE, SIG_IGN);
  reader_.Reset();
  queue_.Push("a");
  EXPECT_FALSE(queue_.WriteTo(writer_.get()).ok());
}

}  // namespace
}  // namespace bridge
