// The writes to one command's input, in their order. The supervisor must stay
// small, so it gets one write at a time. The data of the other writes stays in
// gRPC's memory until they begin or their clients give up. The number of bytes
// that wait is bounded.
//
// Thread-safe; nothing here blocks. Begin() is called without a lock held.

#ifndef SERVER_CORE_INPUT_QUEUE_H_
#define SERVER_CORE_INPUT_QUEUE_H_

#include <cstddef>
#include <list>
#include <map>

#include "absl/base/thread_annotations.h"
#include "sandbox/base/mutex.h"

namespace server {

class InputQueue {
 public:
  class Write {
   public:
    // Called when it is this write's turn. Must not block. The write calls
    // InputQueue::End() when it is over.
    virtual void Begin() = 0;

   protected:
    ~Write() = default;
  };

  // The number of bytes that may wait. A write counts with its data and
  // kWriteBytes.
  static constexpr size_t kMaxWaitingBytes = 16 << 20;
  static constexpr size_t kWriteBytes = 1 << 10;

  // Begins the write, which has `size` bytes of data, now or when the writes
  // before it are over. Returns false if too much waits already; then the write
  // never begins.
  [[nodiscard]] bool Add(Write* write, size_t size);

  // Returns true if the write had not begun; then it never begins.
  bool Remove(Write* write);

  // Ends the write that began, and begins the next one.
  void End();

  // How many writes have not begun.
  size_t waiting();

  // The bytes of the writes that have not ended.
  size_t bytes();

 private:
  void Advance();
  Write* TakeNext();

  struct Waiting {
    Write* write;
    size_t bytes;
  };

  // Removes a write from the queue.
  void Erase(std::list<Waiting>::iterator place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  sandbox::Mutex mutex_;
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<Write*, std::list<Waiting>::iterator> places_
      ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool under_way_ ABSL_GUARDED_BY(mutex_) = false;
  // The bytes of the write that is under way.
  size_t begun_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // True while a thread is in Advance(). It begins the next write if one ends
  // at once.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace server

#endif  // SERVER_CORE_INPUT_QUEUE_H_
