#ifndef BRIDGE_ACP_REMOTE_DELETIONS_H_
#define BRIDGE_ACP_REMOTE_DELETIONS_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/server_calls.h"

namespace bridge {

// Deletes executions and sandboxes, and repeats each deletion until the server
// has answered it, so that nothing stays behind when the server was unreachable
// for a while. Used on the loop's thread only.
class Deletions {
 public:
  // Pauses `interval` before a deletion is repeated. `calls` must outlive this
  // object.
  explicit Deletions(ServerCalls* calls,
                     absl::Duration interval = absl::Seconds(10))
      : calls_(calls), interval_(interval) {}

  // `name` is a full name. Kills processes that still run. Logs failures.
  void DeleteExecution(const std::string& name);
  // Begins a moment later: an agent often starts its next command at once, and
  // the deletion would take time from it.
  void DeleteExecutionSoon(const std::string& name);
  void DeleteSandbox(const std::string& name);

  // Ends the repetitions, and leaves out what has not begun. Deletions under
  // way are finished.
  void Stop();

  // Returns true if no deletion is still to begin.
  bool idle() const { return waiting_ == 0; }

 private:
  using Answer = absl::StatusOr<google::protobuf::Empty>;
  using Call = void (ServerCalls::*)(
      const std::string&, ServerCalls::Done<google::protobuf::Empty>);

  void Delete(Call call, const std::string& name);

  ServerCalls* const calls_;
  const absl::Duration interval_;
  // The number of deletions that begin soon.
  int waiting_ = 0;
  // Timers hold a weak_ptr to it: they do nothing once this object is stopped
  // or destroyed.
  std::shared_ptr<bool> repeating_ = std::make_shared<bool>(true);
};

// Returns true if the server may have carried out the call that failed with
// this status, or may yet do so.
bool IsUncertain(const absl::Status& status);

}  // namespace bridge

#endif  // BRIDGE_ACP_REMOTE_DELETIONS_H_
