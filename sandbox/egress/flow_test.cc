#include "sandbox/egress/flow.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/byte_filter.h"
#include "sandbox/egress/pipe_pool.h"

namespace egress {
namespace {

using sandbox::UniqueFd;
using Next = Flow::Next;
using State = Flow::State;

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
constexpr size_t kBudget = 1 << 20;

// A sender and a receiver with the flow between them.
class FlowTest : public ::testing::Test {
 protected:
  FlowTest() {
    ::signal(SIGPIPE, SIG_IGN);
    Connect(&sender_, &from_);
    Connect(&to_, &receiver_);
  }
  static void Connect(UniqueFd* a, UniqueFd* b) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           0, ends),
              0);
    a->Reset(ends[0]);
    b->Reset(ends[1]);
  }
  Flow MakeFlow(const std::string& first = "", uint64_t rest = kAll) {
    return {&pipes_, from_.get(), to_.get(), first, rest};
  }
  void Send(const std::string& bytes) {
    ASSERT_EQ(::send(sender_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  // All that has arrived; "..." at its end if the stream has not ended.
  std::string Received() {
    std::string all;
    char part[4096];
    for (;;) {
      const ssize_t got = ::recv(receiver_.get(), part, sizeof(part), 0);
      if (got <= 0) {
        return all + (got == 0 ? "" : "...");
      }
      all.append(part, static_cast<size_t>(got));
    }
  }

  UniqueFd sender_;
  UniqueFd from_;
  UniqueFd to_;
  UniqueFd receiver_;
  PipePool pipes_;
};

TEST_F(FlowTest, MovesBytesAndPassesTheEndOn) {
  Flow flow = MakeFlow();
  Send("hello");
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(flow.state(), State::kOpen);
  EXPECT_EQ(flow.moved(), 5U);
  EXPECT_EQ(Received(), "hello...");
  Send("more");
  ::shutdown(sender_.get(), SHUT_WR);
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(flow.state(), State::kEnded);
  EXPECT_EQ(flow.moved(), 9U);
  EXPECT_EQ(Received(), "more");
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
}

TEST_F(FlowTest, SendsItsFirstBytesBeforeThoseOfTheSender) {
  Flow flow = MakeFlow("head ");
  Send("body");
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(Received(), "head body...");
  EXPECT_EQ(flow.moved(), 9U);
}

TEST_F(FlowTest, PassesNothingAfterTheRestButTheEnd) {
  Flow flow = MakeFlow("head ", 3);
  Send("bo");
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(flow.state(), State::kOpen);
  Send("dy");
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(flow.state(), State::kComplete);
  EXPECT_EQ(Received(), "head bod...");
  Send("surplus");
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(flow.state(), State::kComplete);
  ::shutdown(sender_.get(), SHUT_WR);
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(flow.state(), State::kEnded);
  EXPECT_EQ(Received(), "");
  EXPECT_EQ(flow.moved(), 8U);
}

TEST_F(FlowTest, GivesWayToOthersWhileItDiscards) {
  Flow flow = MakeFlow("", 0);
  Send("surplus");
  EXPECT_EQ(flow.Move(7), Next::kAgain);
  EXPECT_EQ(flow.Move(7), Next::kWait);
  EXPECT_EQ(flow.state(), State::kComplete);
}

TEST_F(FlowTest, IsBrokenWhenASenderOfSurplusBreaksOff) {
  Flow flow = MakeFlow("", 0);
  ASSERT_EQ(::send(from_.get(), "x", 1, 0), 1);
  sender_.Reset();
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(flow.state(), State::kBroken);
}

// Passes each byte twice, until the states say something else. Holds an "h"
// back.
class Doubler final : public ByteFilter {
 public:
  explicit Doubler(State* state) : state_(state) {}
  State state() const override { return *state_; }
  void Filter(absl::string_view bytes, std::string* out) override {
    for (const char byte : bytes) {
      *out += byte == 'h' ? "" : std::string(2, byte);
    }
  }
  void Finish(std::string* out) override { *out += "h"; }

 private:
  State* const state_;
};

TEST_F(FlowTest, PassesWhatItsFilterLetsPass) {
  ByteFilter::State state = ByteFilter::State::kFiltering;
  Flow flow(&pipes_, from_.get(), to_.get(), "1", kAll,
            std::make_unique<Doubler>(&state));
  Send("abh");
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(Received(), "1aabb...");
  state = ByteFilter::State::kPassing;
  Send("cd");
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(Received(), "cd...");
  EXPECT_EQ(flow.moved(), 7U);
  EXPECT_EQ(flow.state(), State::kOpen);
}

TEST_F(FlowTest, GivesWayToOthersWhileItFilters) {
  ByteFilter::State state = ByteFilter::State::kFiltering;
  Flow flow(&pipes_, from_.get(), to_.get(), "", kAll,
            std::make_unique<Doubler>(&state));
  Send("hhh");
  EXPECT_EQ(flow.Move(3), Next::kAgain);
  EXPECT_EQ(flow.Move(3), Next::kWait);
}

TEST_F(FlowTest, SendsWhatItsFilterHeldBackBeforeTheEnd) {
  ByteFilter::State state = ByteFilter::State::kFiltering;
  Flow flow(&pipes_, from_.get(), to_.get(), "", kAll,
            std::make_unique<Doubler>(&state));
  Send("ah");
  ::shutdown(sender_.get(), SHUT_WR);
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(Received(), "aah");
  EXPECT_EQ(flow.state(), State::kEnded);
}

TEST_F(FlowTest, EndsWithItsFilter) {
  ByteFilter::State state = ByteFilter::State::kDone;
  Flow done(&pipes_, from_.get(), to_.get(), "1", kAll,
            std::make_unique<Doubler>(&state));
  Send("a");
  EXPECT_EQ(done.Move(kBudget), Next::kWait);
  EXPECT_EQ(done.state(), State::kComplete);
  EXPECT_EQ(Received(), "1...");
  state = ByteFilter::State::kMalformed;
  Flow malformed(&pipes_, from_.get(), to_.get(), "", kAll,
                 std::make_unique<Doubler>(&state));
  Send("b");
  EXPECT_EQ(malformed.Move(kBudget), Next::kWait);
  EXPECT_EQ(malformed.state(), State::kBroken);
  EXPECT_EQ(Received(), "...");
}

TEST_F(FlowTest, IsBrokenWhenItsFilteredSenderBreaksOff) {
  ByteFilter::State state = ByteFilter::State::kFiltering;
  Flow flow(&pipes_, from_.get(), to_.get(), "", kAll,
            std::make_unique<Doubler>(&state));
  ASSERT_EQ(::send(from_.get(), "x", 1, 0), 1);
  sender_.Reset();
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(flow.state(), State::kBroken);
}

TEST_F(FlowTest, GivesWayToOthersWhenItsBudgetIsUsedUp) {
  Flow flow = MakeFlow();
  Send("hello");
  EXPECT_EQ(flow.Move(5), Next::kAgain);
  EXPECT_EQ(flow.moved(), 5U);
  EXPECT_EQ(flow.Move(5), Next::kWait);
  Send("more");
  EXPECT_EQ(flow.Move(5), Next::kWait) << "4 of 5 bytes";
  Flow head = MakeFlow("first");
  Send("x");
  EXPECT_EQ(head.Move(5), Next::kAgain);
  EXPECT_EQ(head.Move(5), Next::kWait);
}

TEST_F(FlowTest, HoldsBytesForASlowReceiver) {
  const std::string first(1 << 20, 'a');
  Flow flow = MakeFlow(first);
  Send("end");
  std::string all;
  for (int i = 0; i < 1000 && flow.moved() < first.size() + 3; ++i) {
    EXPECT_EQ(flow.Move(4 * kBudget), Next::kWait);
    EXPECT_EQ(flow.state(), State::kOpen);
    const std::string part = Received();
    all += part.substr(0, part.size() - 3);
  }
  EXPECT_EQ(all, first + "end");
  EXPECT_EQ(flow.moved(), all.size());
}

TEST_F(FlowTest, ContinuesWhatWaitsInItsPipe) {
  Flow flow = MakeFlow();
  std::string sent;
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string part(10'000, static_cast<char>('a' + i % 26));
    const ssize_t got =
        ::send(sender_.get(), part.data(), part.size(), MSG_DONTWAIT);
    sent += part.substr(0, got > 0 ? static_cast<size_t>(got) : 0);
    flow.Move(kBudget);
    EXPECT_EQ(flow.state(), State::kOpen);
  }
  EXPECT_LT(flow.moved(), sent.size()) << "the receiver has taken all";
  while (all.size() < sent.size()) {
    const std::string part = Received();
    ASSERT_NE(part, "...");
    all += part.substr(0, part.size() - 3);
    flow.Move(kBudget);
  }
  EXPECT_EQ(all, sent);
  EXPECT_EQ(flow.moved(), sent.size());
}

TEST_F(FlowTest, IsBrokenWhenItsReceiverIsGone) {
  Flow first = MakeFlow("head");
  Flow second = MakeFlow();
  Send("body");
  receiver_.Reset();
  EXPECT_EQ(first.Move(kBudget), Next::kWait);
  EXPECT_EQ(first.state(), State::kBroken);
  EXPECT_EQ(second.Move(kBudget), Next::kWait);
  EXPECT_EQ(second.state(), State::kBroken);
  EXPECT_EQ(second.moved(), 0U);
}

TEST_F(FlowTest, IsBrokenWhenItsSenderBreaksOff) {
  Flow flow = MakeFlow();
  // Bytes that the sender has not read make its close a reset.
  ASSERT_EQ(::send(from_.get(), "x", 1, 0), 1);
  sender_.Reset();
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(flow.state(), State::kBroken);
}

TEST_F(FlowTest, TriesAgainWhenNoPipeIsFree) {
  Flow flow = MakeFlow();
  Send("hello");
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(flow.Move(kBudget), Next::kAgain);
  EXPECT_EQ(flow.state(), State::kOpen);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(flow.Move(kBudget), Next::kWait);
  EXPECT_EQ(Received(), "hello...");
}

TEST_F(FlowTest, KeepsAPipeOnlyWhileItHoldsBytes) {
  Pipe pipe = pipes_.Take();
  const int fd = pipe.reader.get();
  pipes_.Return(std::move(pipe));
  Flow flow = MakeFlow();
  for (const char* bytes : {"hello", ""}) {
    Send(bytes);
    flow.Move(kBudget);
    Pipe again = pipes_.Take();
    EXPECT_EQ(again.reader.get(), fd) << "after '" << bytes << "'";
    pipes_.Return(std::move(again));
  }
}

TEST(PipePoolTest, MakesPipesThatDoNotBlockAndCloseOnExec) {
  PipePool pool;
  const Pipe pipe = pool.Take();
  ASSERT_TRUE(pipe.valid());
  for (const UniqueFd* end : {&pipe.reader, &pipe.writer}) {
    EXPECT_NE(::fcntl(end->get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(::fcntl(end->get(), F_GETFD), FD_CLOEXEC);
  }
}

TEST(PipePoolTest, KeepsEightPipesAtMost) {
  PipePool pool;
  std::vector<Pipe> pipes(9);
  for (Pipe& pipe : pipes) {
    pipe = pool.Take();
  }
  std::vector<int> fds;
  for (Pipe& pipe : pipes) {
    fds.push_back(pipe.reader.get());
    pool.Return(std::move(pipe));
  }
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(::fcntl(fds[i], F_GETFD), i < 8 ? FD_CLOEXEC : -1) << i;
  }
  // The last one that came back is in the caches of the processor.
  EXPECT_EQ(pool.Take().reader.get(), fds[7]);
  EXPECT_EQ(pool.Take().reader.get(), fds[6]);
}

}  // namespace
}  // namespace egress
