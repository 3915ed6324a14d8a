#include "server/input_queue.h"

#include <list>

#include "sandbox/base/mutex.h"

namespace server {

using sandbox::MutexLock;

void InputQueue::Add(Write* write) {
  {
    MutexLock lock(&mutex_);
    places_.emplace(write, waiting_.insert(waiting_.end(), write));
  }
  Advance();
}

bool InputQueue::Remove(Write* write) {
  MutexLock lock(&mutex_);
  const auto place = places_.find(write);
  if (place == places_.end()) {
    return false;
  }
  waiting_.erase(place->second);
  places_.erase(place);
  return true;
}

void InputQueue::End() {
  {
    MutexLock lock(&mutex_);
    under_way_ = false;
  }
  Advance();
}

void InputQueue::Advance() {
  {
    MutexLock lock(&mutex_);
    if (advancing_) {
      return;
    }
    advancing_ = true;
  }
  while (Write* next = TakeNext()) {
    next->Begin();
  }
}

InputQueue::Write* InputQueue::TakeNext() {
  MutexLock lock(&mutex_);
  if (under_way_ || waiting_.empty()) {
    advancing_ = false;
    return nullptr;
  }
  Write* next = waiting_.front();
  waiting_.pop_front();
  places_.erase(next);
  under_way_ = true;
  return next;
}

}  // namespace server
