// One direction of a connection: moves bytes from a socket to another one.

#ifndef SANDBOX_EGRESS_FLOW_H_
#define SANDBOX_EGRESS_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "sandbox/egress/byte_filter.h"
#include "sandbox/egress/pipe_pool.h"

namespace egress {

// Holds at most one pipe of bytes, so a slow receiver stops the sender. Not
// thread-safe.
class Flow {
 public:
  enum class State {
    // More bytes may come.
    kOpen,
    // All bytes that may pass have passed. Further ones are discarded until the
    // sender closes its side.
    kComplete,
    // The sender closed its side, and the receiver has seen that.
    kEnded,
    kBroken,
  };

  // Sends `first` to `to`, and then at most `rest` bytes of `from`. `filter`
  // decides which of them pass; null: all. The sockets do not block; they and
  // `pipes` must outlive the flow.
  Flow(PipePool* pipes, int from, int to, std::string first, uint64_t rest,
       std::unique_ptr<ByteFilter> filter = nullptr);
  ~Flow();

  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  enum class Next {
    // Nothing can be moved until one of the sockets becomes ready: watch them
    // edge-triggered.
    kWait,
    // The budget was used up, or no pipe is free: call Move() again soon.
    kAgain,
  };
  // Moves about `budget` bytes at most.
  Next Move(size_t budget);

  State state() const { return state_; }
  // Bytes that reached `to`.
  uint64_t moved() const { return moved_; }

 private:
  // These return false if they can go no further now.
  bool SendFirst();
  bool Fill();
  bool FillFiltered();
  bool Discard();
  bool Splice();
  bool Drain();
  // Shuts `to` down for writing, after the sender has closed its side.
  bool PassEndOn();
  // Counts bytes that were moved in this turn.
  void Spend(size_t bytes);
  void End(State state) { state_ = state; }

  PipePool* const pipes_;
  const int from_;
  const int to_;
  std::string first_;
  uint64_t rest_;
  std::unique_ptr<ByteFilter> filter_;
  State state_ = State::kOpen;
  Pipe pipe_;
  size_t in_pipe_ = 0;
  bool starved_ = false;
  // The rest of the budget of this turn.
  size_t turn_ = 0;
  uint64_t moved_ = 0;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_FLOW_H_
