#include "bridge/acp/remote/output_follower.h"

#include <optional>
#include <utility>

#include "absl/status/statusor.h"

namespace bridge {
namespace {

using corral::v1::OutputEvent;
using sandbox::MutexLock;

corral::v1::StreamOutputRequest From(const std::string& name, uint64_t offset) {
  corral::v1::StreamOutputRequest request;
  request.set_name(name);
  corral::v1::StreamCursor* cursor = request.add_cursors();
  cursor->set_stream(corral::v1::STDOUT);
  cursor->set_offset(offset);
  return request;
}

// The others tell an agent nothing, and each event for the loop costs two
// switches between threads.
bool IsForLoop(const OutputEvent& event) {
  return event.has_chunk() || event.has_gap() || event.has_ended();
}

}  // namespace

bool OutputFollower::Shared::IsStopped() {
  MutexLock lock(&mutex);
  return stopped;
}

// Returns false if the follower was destroyed.
bool OutputFollower::Shared::AwaitHandled() {
  MutexLock lock(&mutex);
  mutex.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return handled || stopped;
  });
  handled = false;
  return !stopped;
}

OutputFollower::OutputFollower(PollLoop* loop, client::Connection& connection,
                               const std::string& execution_name,
                               uint64_t offset, OnEvent on_event,
                               OnLost on_lost)
    : shared_(
          std::make_shared<Shared>(connection, From(execution_name, offset))) {
  shared_->on_event = std::move(on_event);
  shared_->on_lost = std::move(on_lost);
  thread_ = std::thread([loop, shared = shared_] { Follow(loop, shared); });
}

OutputFollower::~OutputFollower() {
  {
    MutexLock lock(&shared_->mutex);
    shared_->stopped = true;
    shared_->mutex.Signal();
  }
  shared_->stream.Cancel();
  thread_.join();
}

void OutputFollower::Follow(PollLoop* loop,
                            const std::shared_ptr<Shared>& shared) {
  bool more = true;
  while (more) {
    absl::StatusOr<std::optional<OutputEvent>> event = shared->stream.Next();
    if (event.ok() && !event->has_value()) {
      event =
          absl::InternalError("the output stream ended without an exit status");
    }
    if (event.ok() && !IsForLoop(**event)) {
      continue;
    }
    more = event.ok() && !(*event)->has_ended();
    loop->Post([shared, event = std::move(event)] {
      if (shared->IsStopped()) {
        return;
      }
      if (event.ok()) {
        shared->on_event(**event);
      } else {
        shared->on_lost(event.status());
      }
      MutexLock lock(&shared->mutex);
      shared->handled = true;
      shared->mutex.Signal();
    });
    more = more && shared->AwaitHandled();
  }
}

}  // namespace bridge
