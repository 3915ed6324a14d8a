#include "bridge/mcp/protocol/waits.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "bridge/mcp/tools/tool_result.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

// Lasts until it is cancelled.
ToolResult WaitForEver(const std::function<bool()>& is_cancelled) {
  while (!is_cancelled()) {
    std::this_thread::yield();
  }
  return ToolResult::Failure("cancelled");
}

Waits::Callbacks Unexpected() {
  return {[](int) {},
          [](const ToolResult& result) { ADD_FAILURE() << result.content; },
          [] { return false; }};
}

TEST(Waits, ReportTheResult) {
  Waits waits;
  std::promise<std::string> text;
  ASSERT_TRUE(waits.Start(
      "1", [](const auto&) { return ToolResult::Failure("done"); },
      {[](int) {},
       [&](const ToolResult& result) {
         text.set_value(result.content[0]["text"].get<std::string>());
       },
       [] { return false; }}));
  EXPECT_EQ(text.get_future().get(), "done");
}

TEST(Waits, ReportNothingWhenTheyAreCancelled) {
  std::promise<void> over;
  Waits waits;
  ASSERT_TRUE(waits.Start(
      "1",
      [&](const auto& is_cancelled) {
        ToolResult result = WaitForEver(is_cancelled);
        over.set_value();
        return result;
      },
      Unexpected()));
  waits.Cancel("2");
  waits.Cancel("1");
  over.get_future().wait();
}

TEST(Waits, ReportThatTheyWereCancelled) {
  std::promise<void> cancelled;
  Waits::Callbacks callbacks = Unexpected();
  callbacks.cancelled = [&] { cancelled.set_value(); };
  Waits waits;
  ASSERT_TRUE(waits.Start("1", WaitForEver, callbacks));
  waits.Cancel("1");
  cancelled.get_future().wait();
}

TEST(Waits, EndWhenNobodyWantsTheResultAnyMore) {
  std::promise<void> over;
  std::atomic<bool> abandoned = false;
  Waits waits;
  Waits::Callbacks callbacks = Unexpected();
  callbacks.is_abandoned = [&] { return abandoned.load(); };
  ASSERT_TRUE(waits.Start(
      "1",
      [&](const auto& is_cancelled) {
        ToolResult result = WaitForEver(is_cancelled);
        over.set_value();
        return result;
      },
      callbacks));
  abandoned = true;
  over.get_future().wait();
}

TEST(Waits, ReportProgressEvery15SecondsUntilTheyAreCancelled) {
  Waits::Clock::time_point now;
  std::vector<int> reported;
  Waits::Callbacks callbacks = Unexpected();
  callbacks.progress = [&](int seconds) { reported.push_back(seconds); };
  std::promise<void> over;
  Waits waits([&] { return now; });
  ASSERT_TRUE(waits.Start(
      "1",
      [&](const auto& is_cancelled) {
        const auto pass = [&](int seconds) {
          now += std::chrono::seconds(seconds);
          return is_cancelled();
        };
        for (const int seconds : {0, 14, 1, 0, 16, 14, 1}) {
          EXPECT_FALSE(pass(seconds));
        }
        waits.Cancel("1");
        EXPECT_TRUE(pass(15));
        over.set_value();
        return ToolResult::Failure("cancelled");
      },
      callbacks));
  over.get_future().wait();
  EXPECT_EQ(reported, (std::vector<int>{15, 31, 46}));
}

TEST(Waits, GiveUpTheirPlaceWhenTheyAreOver) {
  Waits waits;
  for (size_t i = 0; i < Waits::kMaxWaits; ++i) {
    ASSERT_TRUE(waits.Start(std::to_string(i), WaitForEver, Unexpected()));
  }
  waits.Cancel("1");
  while (!waits.Start("more", WaitForEver, Unexpected())) {
    std::this_thread::yield();
  }
}

TEST(Waits, EndWithTheirOwner) {
  Waits waits;
  EXPECT_TRUE(waits.Start("1", WaitForEver, Unexpected()));
}

TEST(Waits, AreLimitedInNumber) {
  Waits waits;
  for (size_t i = 0; i < Waits::kMaxWaits; ++i) {
    EXPECT_TRUE(waits.Start(std::to_string(i), WaitForEver, Unexpected()));
  }
  EXPECT_FALSE(waits.Start("more", WaitForEver, Unexpected()));
}

}  // namespace
}  // namespace bridge
