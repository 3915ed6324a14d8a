#include "sandbox/supervisor/command_streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "gtest/gtest.h"

namespace sandbox {
namespace {

bool Blocks(const UniqueFd& fd) {
  return (::fcntl(fd.get(), F_GETFL) & O_NONBLOCK) == 0;
}

bool ClosesOnExec(const UniqueFd& fd) {
  return ::fcntl(fd.get(), F_GETFD) == FD_CLOEXEC;
}

std::string Read(const UniqueFd& fd) {
  char bytes[64];
  const ssize_t got = ::read(fd.get(), bytes, sizeof(bytes));
  return got < 0 ? "error" : std::string(bytes, static_cast<size_t>(got));
}

void ExpectAllCloseOnExec(const CommandStreams& streams) {
  for (const UniqueFd& fd : streams.command) {
    EXPECT_TRUE(ClosesOnExec(fd));
    EXPECT_TRUE(Blocks(fd)) << "commands expect this";
  }
  for (const auto& [kind, source] : streams.outputs) {
    EXPECT_TRUE(ClosesOnExec(source));
    EXPECT_EQ(Blocks(source), kind != wire::TERMINAL);
  }
}

TEST(CommandStreamsTest, ConnectsThreePipes) {
  const absl::StatusOr<CommandStreams> streams =
      OpenPipes(true, false, ::geteuid());
  ASSERT_TRUE(streams.ok()) << streams.status();
  ASSERT_EQ(streams->command.size(), 3u);
  ASSERT_EQ(streams->outputs.size(), 2u);
  ExpectAllCloseOnExec(*streams);
  EXPECT_FALSE(Blocks(streams->input));
  ASSERT_EQ(::write(streams->input.get(), "in", 2), 2);
  EXPECT_EQ(Read(streams->command[0]), "in");
  ASSERT_EQ(::write(streams->command[1].get(), "out", 3), 3);
  ASSERT_EQ(::write(streams->command[2].get(), "error", 5), 5);
  EXPECT_EQ(streams->outputs[0].first, wire::STDOUT);
  EXPECT_EQ(Read(streams->outputs[0].second), "out");
  EXPECT_EQ(streams->outputs[1].first, wire::STDERR);
  EXPECT_EQ(Read(streams->outputs[1].second), "error");
  EXPECT_EQ(::fcntl(streams->input.get(), F_GETPIPE_SZ), 256 << 10);
}

TEST(CommandStreamsTest, GivesACommandWithoutInputOutputsAlone) {
  const absl::StatusOr<CommandStreams> streams =
      OpenPipes(false, false, ::geteuid());
  ASSERT_TRUE(streams.ok()) << streams.status();
  EXPECT_FALSE(streams->input.valid());
  ASSERT_EQ(streams->command.size(), 2u);
  ExpectAllCloseOnExec(*streams);
  ASSERT_EQ(::write(streams->command[0].get(), "out", 3), 3);
  EXPECT_EQ(Read(streams->outputs[0].second), "out");
}

TEST(CommandStreamsTest, MergesErrorsIntoTheOutput) {
  const absl::StatusOr<CommandStreams> streams =
      OpenPipes(false, true, ::geteuid());
  ASSERT_TRUE(streams.ok()) << streams.status();
  ASSERT_EQ(streams->command.size(), 2u);
  ASSERT_EQ(streams->outputs.size(), 1u);
  ExpectAllCloseOnExec(*streams);
  ASSERT_EQ(::write(streams->command[0].get(), "out ", 4), 4);
  ASSERT_EQ(::write(streams->command[1].get(), "error", 5), 5);
  EXPECT_EQ(Read(streams->outputs[0].second), "out error");
}

TEST(CommandStreamsTest, GivesThePipesToTheirOwner) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const absl::StatusOr<CommandStreams> streams = OpenPipes(true, false, 1234);
  ASSERT_TRUE(streams.ok()) << streams.status();
  for (const UniqueFd& fd : streams->command) {
    struct stat status;
    ASSERT_EQ(::fstat(fd.get(), &status), 0);
    EXPECT_EQ(status.st_uid, 1234u);
    EXPECT_EQ(status.st_gid, 1234u);
  }
}

TEST(CommandStreamsTest, GivesTheTerminalToItsOwner) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const UniqueFd devpts(::open("/dev/pts", O_RDONLY | O_CLOEXEC));
  const absl::StatusOr<CommandStreams> streams =
      OpenTerminal(devpts.get(), 24, 80, 1234);
  if (!streams.ok()) {
    GTEST_SKIP() << streams.status();
  }
  struct stat status;
  ASSERT_EQ(::fstat(streams->command[0].get(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 1234u);
}

TEST(CommandStreamsTest, GivesAllThreeTheTerminal) {
  const UniqueFd devpts(::open("/dev/pts", O_RDONLY | O_CLOEXEC));
  const absl::StatusOr<CommandStreams> streams =
      OpenTerminal(devpts.get(), 24, 80, kSameOwner);
  if (!streams.ok()) {
    GTEST_SKIP() << streams.status();
  }
  ASSERT_EQ(streams->command.size(), 3u);
  ASSERT_EQ(streams->outputs.size(), 1u);
  EXPECT_EQ(streams->outputs[0].first, wire::TERMINAL);
  ExpectAllCloseOnExec(*streams);
  for (const UniqueFd& fd : streams->command) {
    EXPECT_EQ(::isatty(fd.get()), 1);
    EXPECT_GT(fd.get(), 2);
  }
  winsize size = {};
  ASSERT_EQ(::ioctl(streams->command[0].get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 24);
  EXPECT_EQ(size.ws_col, 80);
  ASSERT_EQ(::write(streams->input.get(), "in\n", 3), 3);
  EXPECT_EQ(Read(streams->command[0]), "in\n");
  EXPECT_NE(streams->input.get(), streams->outputs[0].second.get());
}

}  // namespace
}  // namespace sandbox
