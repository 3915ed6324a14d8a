#include "server/core/disk_reads.h"

#include <future>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace server {
namespace {

// A job that runs until it is opened.
class Gate {
 public:
  DiskReads::Job Job() {
    return [this] {
      entered_.set_value();
      open_.get_future().wait();
    };
  }
  void AwaitEntered() { entered_.get_future().wait(); }
  void Open() { open_.set_value(); }

 private:
  std::promise<void> entered_;
  std::promise<void> open_;
};

// Runs a job of `sandbox` and returns when it has run.
void Pass(DiskReads* reads, const std::string& sandbox) {
  std::promise<void> passed;
  reads->Run(sandbox, [&passed] { passed.set_value(); });
  passed.get_future().wait();
}

TEST(DiskReadsTest, RunsOtherSandboxesWhileTheDiskOfOneHangs) {
  DiskReads reads(2);
  Gate gate;
  std::string order;
  reads.Run("hung", gate.Job());
  reads.Run("hung", [&order] { order += "after "; });
  gate.AwaitEntered();
  // Would take the second thread, if jobs of one sandbox ran side by side.
  Pass(&reads, "one");
  Pass(&reads, "two");
  EXPECT_EQ(order, "");
  gate.Open();
  Pass(&reads, "hung");
  EXPECT_EQ(order, "after ");
}

TEST(DiskReadsTest, RunsTheJobsOfASandboxInTheirOrder) {
  DiskReads reads(4);
  std::string order;
  for (const char* job : {"a", "b", "c", "d"}) {
    reads.Run("box", [&order, job] { order += job; });
  }
  Pass(&reads, "box");
  EXPECT_EQ(order, "abcd");
}

TEST(DiskReadsTest, TakesTurnsAmongSandboxes) {
  DiskReads reads(1);
  Gate gate;
  std::string order;
  reads.Run("first", gate.Job());
  gate.AwaitEntered();
  for (int i = 0; i < 2; ++i) {
    reads.Run("a", [&order] { order += "a"; });
  }
  reads.Run("b", [&order] { order += "b"; });
  gate.Open();
  Pass(&reads, "a");
  EXPECT_EQ(order, "aba");
}

TEST(DiskReadsTest, StopRunsWhatWasGivenAndDropsWhatComesLater) {
  DiskReads reads(1);
  Gate gate;
  std::string order;
  reads.Run("box", gate.Job());
  gate.AwaitEntered();
  reads.Run("box", [&order] { order += "1"; });
  reads.Run("other", [&order] { order += "2"; });
  gate.Open();
  reads.Stop();
  EXPECT_TRUE(order == "12" || order == "21") << order;
  reads.Run("box", [&order] { order += "late"; });
  reads.Stop();
  EXPECT_EQ(order.find("late"), std::string::npos);
}

TEST(DiskReadsTest, KeepsNothingOfAJobThatComesAfterItsStop) {
  DiskReads reads(1);
  reads.Stop();
  const auto owned = std::make_shared<int>(0);
  reads.Run("box", [owned] {});
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace server
