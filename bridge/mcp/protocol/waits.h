// The tool calls that wait for a program, each on a thread of its own.

#ifndef BRIDGE_MCP_PROTOCOL_WAITS_H_
#define BRIDGE_MCP_PROTOCOL_WAITS_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "bridge/mcp/tools/tool_result.h"
#include "bridge/mcp/tools/waiting.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Thread-safe.
class Waits {
 public:
  using Clock = std::chrono::steady_clock;

  // `now` reads the clock for reports of progress, on the threads of the waits.
  explicit Waits(std::function<Clock::time_point()> now = Clock::now);
  // Cancels all waits and joins their threads.
  ~Waits();

  struct Callbacks {
    // Called every 15 s while the wait lasts, with the seconds since its begin.
    std::function<void(int seconds)> progress;
    // Called with the result, once, unless the wait was cancelled.
    std::function<void(const ToolResult&)> done;
    // Returns true to end the wait as if it had been cancelled.
    std::function<bool()> is_abandoned;
    // Called instead of `done` if the wait was cancelled.
    std::function<void()> cancelled = [] {};
  };

  // `id` identifies the call. Returns false if too many wait already.
  bool Start(const std::string& id, Waiting wait, Callbacks callbacks)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Does nothing if no such call waits.
  void Cancel(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);

  static constexpr size_t kMaxWaits = 32;

 private:
  struct Entry {
    std::string id;
    std::atomic<bool> cancelled{false};
    std::atomic<bool> over{false};
    std::thread thread;
  };

  // Joins the threads that have ended.
  void Reap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run(Entry* entry, const Waiting& wait, const Callbacks& callbacks) const;

  const std::function<Clock::time_point()> now_;
  sandbox::Mutex mutex_;
  // Entries do not move: their threads refer to them.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_WAITS_H_
