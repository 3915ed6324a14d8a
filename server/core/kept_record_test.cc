#include "server/core/kept_record.h"

#include "corral/v1/execution.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::corral::v1::Execution;
using ::google::protobuf::util::MessageDifferencer;

TEST(KeptRecordTest, BeginsWithAStart) {
  const KeptRecord kept;
  EXPECT_EQ(kept.state(), Execution::STARTING);
  EXPECT_EQ(kept.Get().state(), Execution::STARTING);
  EXPECT_FALSE(kept.ended());
}

TEST(KeptRecordTest, ReturnsAfterTheEndWhatItWasGiven) {
  KeptRecord kept;
  Execution expected;
  kept.Change([&](Execution* record) {
    record->set_state(Execution::RUNNING);
    record->mutable_start_time()->set_seconds(1);
    record->mutable_input()->set_accepted_offset(2);
  });
  EXPECT_EQ(kept.state(), Execution::RUNNING);
  EXPECT_FALSE(kept.ended());
  kept.Change([&](Execution* record) {
    record->set_state(Execution::EXITED);
    record->mutable_end_time()->set_seconds(3);
    record->mutable_exit()->set_code(4);
    record->mutable_usage()->set_memory_peak_bytes(5);
    expected = *record;
  });
  EXPECT_EQ(kept.state(), Execution::EXITED);
  EXPECT_TRUE(kept.ended());
  EXPECT_TRUE(MessageDifferencer::Equals(kept.Get(), expected));
}

TEST(KeptRecordTest, ChangesAfterTheEnd) {
  KeptRecord kept;
  kept.Change([](Execution* record) { record->set_state(Execution::LOST); });
  kept.Change([](Execution* record) {
    record->mutable_input()->set_accepted_offset(7);
  });
  EXPECT_TRUE(kept.ended());
  EXPECT_EQ(kept.state(), Execution::LOST);
  EXPECT_EQ(kept.Get().input().accepted_offset(), 7);
}

}  // namespace
}  // namespace server
