#include "bridge/client/output_position.h"

#include <cstdint>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using corral::v1::STDERR;
using corral::v1::STDOUT;
using corral::v1::Stream;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::tests::IsOk;
using ::tests::StatusIs;

// Standard output kept from byte 100, standard error from byte 0.
corral::v1::Execution Opened() {
  corral::v1::Execution opened;
  corral::v1::StreamState* state = opened.add_streams();
  state->set_stream(STDOUT);
  state->set_begin_offset(100);
  state->set_end_offset(200);
  opened.add_streams()->set_stream(STDERR);
  return opened;
}

corral::v1::Chunk Chunk(Stream stream, uint64_t offset, const char* data) {
  corral::v1::Chunk chunk;
  chunk.set_stream(stream);
  chunk.set_offset(offset);
  chunk.set_data(data);
  return chunk;
}

OutputPosition::Cursors Cursor(Stream stream, uint64_t offset) {
  OutputPosition::Cursors cursors;
  cursors.Add()->set_stream(stream);
  cursors[0].set_offset(offset);
  return cursors;
}

class OutputPositionTest : public ::testing::Test {
 protected:
  OutputPosition position_;
};

TEST_F(OutputPositionTest, BeginsACommandThatWasStartedHereAtItsFirstByte) {
  position_.OpenStarted(Opened());
  EXPECT_THAT(position_.offsets(),
              ElementsAre(Pair(STDOUT, 0), Pair(STDERR, 0)));
  EXPECT_THAT(position_.Accept(Chunk(STDOUT, 100, "x")),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("offset 100 instead of offset 0")));
}

TEST_F(OutputPositionTest, BeginsAtTheRequestedCursorsOnly) {
  position_.OpenExisting(Opened(), Cursor(STDOUT, 150));
  EXPECT_THAT(position_.offsets(), ElementsAre(Pair(STDOUT, 150)));
  EXPECT_THAT(position_.Accept(Chunk(STDOUT, 151, "x")),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("151")));
}

TEST_F(OutputPositionTest, BeginsWithoutCursorsAtTheOldestByte) {
  position_.OpenExisting(Opened(), {});
  EXPECT_THAT(position_.offsets(),
              ElementsAre(Pair(STDOUT, 100), Pair(STDERR, 0)));
}

TEST_F(OutputPositionTest, LetsTheFirstChunkBeginLaterThanTheOldestByte) {
  position_.OpenExisting(Opened(), {});
  EXPECT_THAT(position_.Accept(Chunk(STDERR, 0, "at once")), IsOk());
  EXPECT_THAT(position_.Accept(Chunk(STDOUT, 120, "abc")), IsOk());
  EXPECT_EQ(position_.offsets().at(STDOUT), 123);
  EXPECT_THAT(position_.Accept(Chunk(STDOUT, 124, "x")),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("123")));
}

TEST_F(OutputPositionTest, RefusesAFirstChunkBelowTheOldestByte) {
  position_.OpenExisting(Opened(), {});
  EXPECT_THAT(position_.Accept(Chunk(STDOUT, 99, "abc")),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("99")));
}

TEST_F(OutputPositionTest, AdvancesByChunksAndGaps) {
  position_.OpenStarted(Opened());
  EXPECT_THAT(position_.Accept(Chunk(STDOUT, 0, "abc")), IsOk());
  EXPECT_THAT(position_.Accept(Chunk(STDERR, 0, "x")), IsOk());
  corral::v1::Gap gap;
  gap.set_stream(STDOUT);
  gap.set_begin_offset(3);
  gap.set_end_offset(1000);
  position_.Skip(gap);
  EXPECT_THAT(position_.Accept(Chunk(STDOUT, 1000, "d")), IsOk());
  EXPECT_THAT(position_.offsets(),
              ElementsAre(Pair(STDOUT, 1001), Pair(STDERR, 1)));
}

TEST_F(OutputPositionTest, ReplacesTheCursorsOfARequest) {
  position_.OpenStarted(Opened());
  EXPECT_THAT(position_.Accept(Chunk(STDOUT, 0, "abc")), IsOk());
  OutputPosition::Cursors cursors = Cursor(STDOUT, 1);
  position_.WriteTo(cursors);
  ASSERT_EQ(cursors.size(), 2);
  EXPECT_EQ(cursors[0].stream(), STDOUT);
  EXPECT_EQ(cursors[1].stream(), STDERR);
  EXPECT_EQ(cursors[0].offset(), 3);
  EXPECT_EQ(cursors[1].offset(), 0);
  position_.WriteTo(cursors, 2);
  ASSERT_EQ(cursors.size(), 2);
  EXPECT_EQ(cursors[0].offset(), 1);
  EXPECT_EQ(cursors[1].offset(), 0);
}

}  // namespace
}  // namespace client
