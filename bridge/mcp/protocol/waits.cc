#include "bridge/mcp/protocol/waits.h"

#include <chrono>
#include <utility>

namespace bridge {
namespace {

using sandbox::MutexLock;

// Clients give a call up after 60 s without a sign of life.
constexpr std::chrono::seconds kProgressInterval(15);

}  // namespace

Waits::Waits(std::function<Clock::time_point()> now) : now_(std::move(now)) {}

Waits::~Waits() {
  std::list<Entry> entries;
  {
    MutexLock lock(&mutex_);
    entries.swap(entries_);
  }
  for (Entry& entry : entries) {
    entry.cancelled = true;
  }
  for (Entry& entry : entries) {
    entry.thread.join();
  }
}

void Waits::Reap() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->over) {
      entry->thread.join();
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
}

bool Waits::Start(const std::string& id, Waiting wait, Callbacks callbacks) {
  MutexLock lock(&mutex_);
  Reap();
  if (entries_.size() >= kMaxWaits) {
    return false;
  }
  Entry& entry = entries_.emplace_back();
  entry.id = id;
  entry.thread = std::thread(
      [this, &entry, wait = std::move(wait), callbacks = std::move(callbacks)] {
        Run(&entry, wait, callbacks);
      });
  return true;
}

void Waits::Cancel(const std::string& id) {
  MutexLock lock(&mutex_);
  for (Entry& entry : entries_) {
    if (entry.id == id) {
      entry.cancelled = true;
    }
  }
}

void Waits::Run(Entry* entry, const Waiting& wait,
                const Callbacks& callbacks) const {
  const auto begin = now_();
  auto reported = begin;
  const ToolResult result = wait([&] {
    const auto now = now_();
    if (now - reported >= kProgressInterval && !entry->cancelled) {
      reported = now;
      callbacks.progress(static_cast<int>(
          std::chrono::duration_cast<std::chrono::seconds>(now - begin)
              .count()));
    }
    return entry->cancelled || callbacks.is_abandoned();
  });
  if (entry->cancelled || callbacks.is_abandoned()) {
    callbacks.cancelled();
  } else {
    callbacks.done(result);
  }
  entry->over = true;
}

}  // namespace bridge
