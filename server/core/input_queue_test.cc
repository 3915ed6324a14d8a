#include "server/core/input_queue.h"

#include <string>

#include "gtest/gtest.h"

namespace server {
namespace {

class InputQueueTest : public ::testing::Test {
 protected:
  struct Write final : InputQueue::Write {
    Write(InputQueueTest* test, char name, bool over_at_once = false)
        : test(test), name(name), over_at_once(over_at_once) {}
    void Begin() override {
      test->begun_ += name;
      if (over_at_once) {
        test->queue_.End();
        test->begun_ += '.';
      }
    }
    InputQueueTest* const test;
    const char name;
    const bool over_at_once;
  };

  InputQueue queue_;
  std::string begun_;
};

TEST_F(InputQueueTest, BeginsOneAtATimeInTheirOrder) {
  Write a(this, 'a');
  Write b(this, 'b');
  Write c(this, 'c');
  EXPECT_TRUE(queue_.Add(&a, 1));
  EXPECT_TRUE(queue_.Add(&b, 1));
  EXPECT_TRUE(queue_.Add(&c, 1));
  EXPECT_EQ(begun_, "a");
  queue_.End();
  EXPECT_EQ(begun_, "ab");
  queue_.End();
  queue_.End();
  EXPECT_EQ(begun_, "abc");
  EXPECT_TRUE(queue_.Add(&a, 1));
  EXPECT_EQ(begun_, "abca");
}

TEST_F(InputQueueTest, DoesNotBeginWhatWasRemoved) {
  Write a(this, 'a');
  Write b(this, 'b');
  Write c(this, 'c');
  EXPECT_TRUE(queue_.Add(&a, 1));
  EXPECT_TRUE(queue_.Add(&b, 1));
  EXPECT_TRUE(queue_.Add(&c, 1));
  EXPECT_FALSE(queue_.Remove(&a)) << "it has begun";
  EXPECT_TRUE(queue_.Remove(&b));
  EXPECT_FALSE(queue_.Remove(&b));
  queue_.End();
  EXPECT_EQ(begun_, "ac");
}

TEST_F(InputQueueTest, DoesNotNestThoseThatAreOverAtOnce) {
  Write a(this, 'a');
  Write b(this, 'b', /*over_at_once=*/true);
  Write c(this, 'c', /*over_at_once=*/true);
  EXPECT_TRUE(queue_.Add(&a, 1));
  EXPECT_TRUE(queue_.Add(&b, 1));
  EXPECT_TRUE(queue_.Add(&c, 1));
  queue_.End();
  EXPECT_EQ(begun_, "ab.c.");
}

TEST_F(InputQueueTest, HoldsNoMoreThanItsLimit) {
  Write a(this, 'a');
  Write b(this, 'b');
  Write c(this, 'c');
  constexpr size_t kAll =
      InputQueue::kMaxWaitingBytes - InputQueue::kWriteBytes;
  EXPECT_TRUE(queue_.Add(&a, 1));
  EXPECT_TRUE(queue_.Add(&b, kAll)) << "what has begun waits no longer";
  EXPECT_FALSE(queue_.Add(&c, 0));
  queue_.End();
  EXPECT_TRUE(queue_.Add(&c, kAll));
  EXPECT_TRUE(queue_.Remove(&c));
  EXPECT_TRUE(queue_.Add(&c, kAll));
  queue_.End();
  EXPECT_EQ(begun_, "abc");
}

TEST_F(InputQueueTest, CountsTheBytesOfAWriteUntilItEnds) {
  Write a(this, 'a');
  Write b(this, 'b');
  EXPECT_TRUE(queue_.Add(&a, 1));
  EXPECT_TRUE(queue_.Add(&b, 2));
  EXPECT_EQ(queue_.bytes(), 3 + 2 * InputQueue::kWriteBytes);
  queue_.End();
  EXPECT_EQ(queue_.bytes(), 2 + InputQueue::kWriteBytes);
  queue_.End();
  EXPECT_EQ(queue_.bytes(), 0);
}

}  // namespace
}  // namespace server
