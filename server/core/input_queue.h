// The writes to one command's input, in their order. The supervisor, which is
// to stay small, has one of them at a time; the others' data stays where gRPC
// has it, until they begin or their clients give up. It takes memory, so that
// there is a limit to what may wait.
//
// Thread-safe.

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
    // Its turn has come: it calls End() when it is over. Must not block.
    virtual void Begin() = 0;

   protected:
    ~Write() = default;
  };

  // What may wait. A write counts with its data and kWriteBytes.
  static constexpr size_t kMaxWaitingBytes = 16 << 20;
  static constexpr size_t kWriteBytes = 1 << 10;

  // Begins it now, or when those before it are over. False: too much waits; it
  // will not begin. `size`: of its data, in bytes.
  [[nodiscard]] bool Add(Write* write, size_t size);

  // True: it will not begin.
  bool Remove(Write* write);

  // The one that began is over.
  void End();

 private:
  void Advance();
  Write* TakeNext();

  struct Waiting {
    Write* write;
    size_t bytes;
  };

  // Takes it off the queue.
  void Erase(std::list<Waiting>::iterator place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  sandbox::Mutex mutex_;
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<Write*, std::list<Waiting>::iterator> places_
      ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool under_way_ ABSL_GUARDED_BY(mutex_) = false;
  // Somebody begins writes, and goes on when one is over at once.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace server

#endif  // SERVER_CORE_INPUT_QUEUE_H_
