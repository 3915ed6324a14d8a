#include "bridge/cli/commands/log_tail.h"

#include <cstdint>
#include <memory>
#include <string>

#include "bridge/client/connection.h"
#include "bridge/client/connection_fixture.h"
#include "corral/v1/execution.pb.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

// The last `lines` of `text`, counted in pieces of `size` bytes.
std::string Tail(const std::string& text, uint64_t lines, size_t size) {
  LineCounter counter(lines);
  for (size_t end = text.size(); end > 0;) {
    const size_t begin = end > size ? end - size : 0;
    if (counter.Take(text.substr(begin, end - begin))) {
      return text.substr(begin + counter.begin());
    }
    end = begin;
  }
  return text;
}

TEST(LineCounterTest, FindsTheLastLinesWhateverThePieces) {
  for (const size_t size : {1, 2, 3, 100}) {
    EXPECT_EQ(Tail("a\nbb\nccc\n", 0, size), "");
    EXPECT_EQ(Tail("a\nbb\nccc\n", 1, size), "ccc\n");
    EXPECT_EQ(Tail("a\nbb\nccc\n", 2, size), "bb\nccc\n");
    EXPECT_EQ(Tail("a\nbb\nccc\n", 3, size), "a\nbb\nccc\n");
    EXPECT_EQ(Tail("a\nbb\nccc\n", 9, size), "a\nbb\nccc\n");
  }
}

TEST(LineCounterTest, CountsALineWithoutANewline) {
  EXPECT_EQ(Tail("a\nbb", 1, 2), "bb");
  EXPECT_EQ(Tail("a\nbb", 2, 2), "a\nbb");
  EXPECT_EQ(Tail("a\nbb", 0, 2), "");
}

TEST(LineCounterTest, CountsEmptyLines) {
  EXPECT_EQ(Tail("a\n\n\n", 1, 2), "\n");
  EXPECT_EQ(Tail("a\n\n\n", 2, 2), "\n\n");
  EXPECT_EQ(Tail("\n", 1, 2), "\n");
  EXPECT_EQ(Tail("", 1, 2), "");
}

// A command whose standard output is `text`.
class FindTailTest : public ::testing::Test {
 protected:
  void Start(const std::string& text) {
    corral::v1::Command command;
    command.mutable_output()->set_overflow(corral::v1::OutputPolicy::BLOCK);
    name_ = client::Start(*connection_, text, command);
    server_.FindExecution(name_)->WaitForOutput(corral::v1::STDOUT,
                                                text.size());
    state_.set_stream(corral::v1::STDOUT);
    state_.set_end_offset(text.size());
  }

  uint64_t Find(uint64_t lines) {
    return FindTail(*connection_, name_, state_, lines).value();
  }

  tests::FakeServer server_{[](tests::FakeExecution& command) {
    command.Print(command.command().argv(0));
  }};
  std::unique_ptr<client::Connection> connection_ = client::Connect(server_);
  std::string name_;
  corral::v1::StreamState state_;
};

TEST_F(FindTailTest, ReadsBackwardsInPieces) {
  std::string text;
  for (int i = 0; i < 150'000; ++i) {
    text += "x\n";
  }
  Start(text);
  EXPECT_EQ(Find(0), 300'000);
  EXPECT_EQ(Find(1), 299'998);
  EXPECT_EQ(Find(140'000), 20'000);
  EXPECT_EQ(Find(200'000), 0);
}

TEST_F(FindTailTest, BeginsAboveAGap) {
  Start("aa\nbb\ncc\n");
  state_.set_gap_begin_offset(1);
  state_.set_gap_end_offset(6);
  EXPECT_EQ(Find(1), 6);
  EXPECT_EQ(Find(3), 6);
}

TEST_F(FindTailTest, BeginsAtTheOldestByteAboveAGap) {
  Start("aa\nbb\ncc\n");
  state_.set_gap_begin_offset(1);
  state_.set_gap_end_offset(2);
  state_.set_begin_offset(3);
  EXPECT_EQ(Find(9), 3);
  // An offset where no byte is missing is no gap.
  state_.set_gap_begin_offset(6);
  state_.set_gap_end_offset(6);
  EXPECT_EQ(Find(9), 3);
}

TEST_F(FindTailTest, BeginsWithTheOldestByteIfSomeHaveExpiredMeanwhile) {
  Start("aa\nbb\ncc\n");
  server_.FindExecution(name_)->Acknowledge(corral::v1::STDOUT, 4);
  EXPECT_EQ(Find(1), 6);
  EXPECT_EQ(Find(3), 4);
}

}  // namespace
}  // namespace bridge
