#include "bridge/mcp/protocol/waits.h"

#include <atomic>
#include <future>
#include <string>
#include <thread>

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
