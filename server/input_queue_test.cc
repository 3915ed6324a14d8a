#include "server/input_queue.h"

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
  queue_.Add(&a);
  queue_.Add(&b);
  queue_.Add(&c);
  EXPECT_EQ(begun_, "a");
  queue_.End();
  EXPECT_EQ(begun_, "ab");
  queue_.End();
  queue_.End();
  EXPECT_EQ(begun_, "abc");
  queue_.Add(&a);
  EXPECT_EQ(begun_, "abca");
}

TEST_F(InputQueueTest, DoesNotBeginWhatWasRemoved) {
  Write a(this, 'a');
  Write b(this, 'b');
  Write c(this, 'c');
  queue_.Add(&a);
  queue_.Add(&b);
  queue_.Add(&c);
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
  queue_.Add(&a);
  queue_.Add(&b);
  queue_.Add(&c);
  queue_.End();
  EXPECT_EQ(begun_, "ab.c.");
}

}  // namespace
}  // namespace server
