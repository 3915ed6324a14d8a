// The writes to one command's input, in their order. The supervisor, which must
// stay small, gets one write at a time. The data of the others stays in gRPC's
// memory until they begin or their clients give up; what may wait is bounded.
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
    // It is this write's turn. The write calls InputQueue::End() when it is
    // over. Must not block.
    virtual void Begin() = 0;

   protected:
    ~Write() = default;
  };

  // How many bytes may wait. A write counts with its data and kWriteBytes.
  static constexpr size_t kMaxWaitingBytes = 16 << 20;
  static constexpr size_t kWriteBytes = 1 << 10;

  // Has the write begin, now or when those before it are over. False: too much
  // waits, and the write will not begin. `size`: the bytes of its data.
  [[nodiscard]] bool Add(Write* write, size_t size);

  // True: the write had not begun, and will not.
  bool Remove(Write* write);

  // The write that began is over.
  void End();

  // How many writes have not begun.
  size_t waiting();

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
  // A thread is in Advance(); it goes on when a write is over at once.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace server

#endif  // SERVER_CORE_INPUT_QUEUE_H_
