#include "bridge/cli/attach/nonblocking.h"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"

namespace bridge {
namespace {

using sandbox::UniqueFd;

bool Blocks(int fd) { return (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0; }

TEST(NonblockingTest, OpensAPipeAgainAndLeavesTheFirstDescriptorAlone) {
  const tests::Pipe pipe;
  const UniqueFd reader = ReopenNonblocking(pipe.reader.get(), O_RDONLY);
  ASSERT_TRUE(reader.valid());
  EXPECT_FALSE(Blocks(reader.get()));
  EXPECT_NE(::fcntl(reader.get(), F_GETFD) & FD_CLOEXEC, 0);
  const UniqueFd writer = ReopenNonblocking(pipe.writer.get(), O_WRONLY);
  ASSERT_TRUE(writer.valid());
  EXPECT_FALSE(Blocks(writer.get()));
  EXPECT_TRUE(Blocks(pipe.reader.get()));
  EXPECT_TRUE(Blocks(pipe.writer.get()));
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 1);
}

TEST(NonblockingTest, OpensATerminalInBothDirections) {
  int master = -1;
  int slave = -1;
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  const UniqueFd other(master);
  const UniqueFd terminal(slave);
  EXPECT_TRUE(ReopenNonblocking(terminal.get(), O_RDONLY).valid());
  EXPECT_TRUE(ReopenNonblocking(terminal.get(), O_WRONLY).valid());
}

TEST(NonblockingTest, OpensNothingElse) {
  const tests::Pipe pipe;
  EXPECT_FALSE(ReopenNonblocking(pipe.reader.get(), O_WRONLY).valid());
  EXPECT_FALSE(ReopenNonblocking(pipe.writer.get(), O_RDONLY).valid());
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(ReopenNonblocking(file.get(), O_RDONLY).valid());
  EXPECT_FALSE(ReopenNonblocking(-1, O_RDONLY).valid());
}

}  // namespace
}  // namespace bridge
