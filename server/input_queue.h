// The writes to one command's input, in their order. The supervisor, which is
// to stay small, has one of them at a time; the others' data stays where gRPC
// has it, until they begin or their clients give up.
//
// Thread-safe.

#ifndef SERVER_INPUT_QUEUE_H_
#define SERVER_INPUT_QUEUE_H_

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

  // Begins it now, or when those before it are over.
  void Add(Write* write);

  // True: it will not begin.
  bool Remove(Write* write);

  // The one that began is over.
  void End();

 private:
  void Advance();
  Write* TakeNext();

  sandbox::Mutex mutex_;
  std::list<Write*> waiting_ ABSL_GUARDED_BY(mutex_);
  std::map<Write*, std::list<Write*>::iterator> places_ ABSL_GUARDED_BY(mutex_);
  bool under_way_ ABSL_GUARDED_BY(mutex_) = false;
  // Somebody begins writes, and goes on when one is over at once.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace server

#endif  // SERVER_INPUT_QUEUE_H_
