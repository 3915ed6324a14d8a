#include "server/screen/live_screens.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/time/time.h"

namespace server {
namespace {

using sandbox::MutexLock;

constexpr size_t kThreads = 4;
constexpr std::chrono::seconds kUnused(60);
constexpr absl::Duration kSweepInterval = absl::Seconds(20);

}  // namespace

LiveScreens::LiveScreens(TimerQueue* timers)
    : timers_(timers), image_(MakeEmulatorImage()), threads_(kThreads) {}

LiveScreens::~LiveScreens() {
  {
    MutexLock lock(&mutex_);
    timers_->Cancel(timer_);
  }
  threads_.Stop();
}

LiveScreens::Entry& LiveScreens::FindOrAdd(
    const std::shared_ptr<Execution>& execution) {
  Entry& entry = entries_[execution->name()];
  if (entry.execution.lock() != execution) {
    if (entry.screen != nullptr) {
      EndEmulator(execution->name(), &entry);
    }
    entry.execution = execution;
    entry.screen = std::make_shared<LiveScreen>(&*image_);
  }
  return entry;
}

void LiveScreens::Run(
    const std::shared_ptr<Execution>& execution,
    absl::AnyInvocable<void(absl::StatusOr<LiveScreen*>)> work) {
  if (!image_.ok()) {
    work(image_.status());
    return;
  }
  MutexLock lock(&mutex_);
  Entry& entry = FindOrAdd(execution);
  entry.used = timers_->Now();
  if (!entry.warm) {
    EndLongestUnused();
    entry.warm = true;
  }
  threads_.Run(execution->name(),
               [screen = entry.screen, work = std::move(work)]() mutable {
                 work(screen.get());
               });
  Schedule();
}

void LiveScreens::EndEmulator(const std::string& name, Entry* entry) {
  entry->warm = false;
  threads_.Run(name, [screen = entry->screen] { screen->EndEmulator(); });
}

void LiveScreens::EndLongestUnused() {
  const size_t warm = std::count_if(
      entries_.begin(), entries_.end(),
      [](const Entries::value_type& item) { return item.second.warm; });
  if (warm < kMaxEmulators) {
    return;
  }
  auto longest = entries_.end();
  for (auto item = entries_.begin(); item != entries_.end(); ++item) {
    if (item->second.warm && (longest == entries_.end() ||
                              item->second.used < longest->second.used)) {
      longest = item;
    }
  }
  EndEmulator(longest->first, &longest->second);
}

void LiveScreens::Schedule() {
  if (timer_ == 0 && !entries_.empty()) {
    timer_ = timers_->RunAfter(kSweepInterval, [this] { Sweep(); });
  }
}

void LiveScreens::Sweep() {
  MutexLock lock(&mutex_);
  timer_ = 0;
  const TimerQueue::TimePoint now = timers_->Now();
  for (auto item = entries_.begin(); item != entries_.end();) {
    Entry& entry = item->second;
    const bool deleted = entry.execution.expired();
    if (entry.warm && (deleted || now - entry.used >= kUnused)) {
      EndEmulator(item->first, &entry);
    }
    if (deleted) {
      threads_.Run(item->first,
                   [screen = entry.screen] { screen->RemoveMarks(); });
    }
    item = deleted ? entries_.erase(item) : std::next(item);
  }
  Schedule();
}

}  // namespace server
