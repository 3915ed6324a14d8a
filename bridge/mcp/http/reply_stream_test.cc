#include "bridge/mcp/http/reply_stream.h"

#include <chrono>
#include <memory>
#include <thread>

#include "gtest/gtest.h"

namespace bridge {
namespace {

using End = ReplyStream::End;

constexpr std::chrono::minutes kLong(10);

TEST(ReplyStream, PassesLinesOnUntilTheChannelIsDropped) {
  const auto stream = std::make_shared<ReplyStream>([] { return false; });
  std::thread sender([channel = ReplyStream::MakeChannel(stream, true)] {
    channel->Send("a\n");
    channel->Send("b\n");
  });
  sender.detach();
  EXPECT_EQ(stream->Read(kLong).line, "a\n");
  EXPECT_EQ(stream->Read(kLong).line, "b\n");
  EXPECT_EQ(stream->Read(kLong).end, End::kOver);
}

TEST(ReplyStream, EndsEachReadAfterItsPatience) {
  const auto stream = std::make_shared<ReplyStream>([] { return false; });
  const auto channel = ReplyStream::MakeChannel(stream, true);
  const ReplyStream::Next next = stream->Read(std::chrono::milliseconds(1));
  EXPECT_FALSE(next.line.has_value());
  EXPECT_EQ(next.end, End::kOpen);
}

TEST(ReplyStream, IsAbandonedWhenTheClientIsGone) {
  const auto stream = std::make_shared<ReplyStream>([] { return true; });
  const auto call = ReplyStream::MakeChannel(stream, true);
  const auto lasting = ReplyStream::MakeChannel(stream, false);
  EXPECT_FALSE(call->IsAbandoned());
  EXPECT_EQ(stream->Read(kLong).end, End::kOver);
  EXPECT_TRUE(call->IsAbandoned());
  EXPECT_FALSE(lasting->IsAbandoned());
  call->Send("nobody reads it\n");
}

TEST(ReplyStream, IsAbandonedWhenItsReaderCloses) {
  const auto stream = std::make_shared<ReplyStream>([] { return false; });
  const auto call = ReplyStream::MakeChannel(stream, true);
  call->Send("nobody has read it\n");
  stream->Close();
  EXPECT_TRUE(call->IsAbandoned());
  call->Send("nobody reads it\n");
  EXPECT_FALSE(stream->Read(kLong).line.has_value());
}

}  // namespace
}  // namespace bridge
