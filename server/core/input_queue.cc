#include "server/core/input_queue.h"

#include <list>

#include "sandbox/base/mutex.h"

namespace server {

using sandbox::MutexLock;

bool InputQueue::Add(Write* write, size_t size) {
  const size_t bytes = size + kWriteBytes;
  {
    MutexLock lock(&mutex_);
    if (waiting_bytes_ + bytes > kMaxWaitingBytes) {
      return false;
    }
    places_.emplace(write, waiting_.insert(waiting_.end(), {write, bytes}));
    waiting_bytes_ += bytes;
  }
  Advance();
  return true;
}

bool InputQueue::Remove(Write* write) {
  MutexLock lock(&mutex_);
  const auto place = places_.find(write);
  if (place == places_.end()) {
    return false;
  }
  Erase(place->second);
  return true;
}

void InputQueue::Erase(std::list<Waiting>::iterator place) {
  waiting_bytes_ -= place->bytes;
  places_.erase(place->write);
  waiting_.erase(place);
}

void InputQueue::End() {
  {
    MutexLock lock(&mutex_);
    under_way_ = false;
    begun_bytes_ = 0;
  }
  Advance();
}

size_t InputQueue::waiting() {
  MutexLock lock(&mutex_);
  return waiting_.size();
}

size_t InputQueue::bytes() {
  MutexLock lock(&mutex_);
  return waiting_bytes_ + begun_bytes_;
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
  Write* next = waiting_.front().write;
  begun_bytes_ = waiting_.front().bytes;
  Erase(waiting_.begin());
  under_way_ = true;
  return next;
}

}  // namespace server
