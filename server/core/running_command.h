// A command that has not ended: while the object lives, a drain of the server
// waits for it and the idle timeout of its sandbox does not run.
//
// Any thread may destroy it.

#ifndef SERVER_CORE_RUNNING_COMMAND_H_
#define SERVER_CORE_RUNNING_COMMAND_H_

#include <memory>
#include <utility>

#include "server/core/lifetime.h"
#include "server/runtime/activity.h"

namespace server {

class RunningCommand {
 public:
  // `activity` must outlive the object.
  RunningCommand(Activity* activity, std::shared_ptr<Lifetime> lifetime)
      : activity_(activity), lifetime_(std::move(lifetime)) {
    activity_->CommandStarted();
    lifetime_->Hold(Lifetime::Holder::kCommand);
  }
  ~RunningCommand() {
    activity_->CommandEnded();
    lifetime_->Release(Lifetime::Holder::kCommand);
  }
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

 private:
  Activity* const activity_;
  const std::shared_ptr<Lifetime> lifetime_;
};

}  // namespace server

#endif  // SERVER_CORE_RUNNING_COMMAND_H_
