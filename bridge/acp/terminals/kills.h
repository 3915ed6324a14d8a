#ifndef BRIDGE_ACP_TERMINALS_KILLS_H_
#define BRIDGE_ACP_TERMINALS_KILLS_H_

#include <set>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/server_calls.h"

namespace bridge {

// The terminal/kill requests that the server has not answered. Used on the
// loop's thread only.
class Kills {
 public:
  using Send = absl::AnyInvocable<void(std::string)>;

  // All pointers must outlive this object. `send` gets each answer as a line.
  Kills(ServerCalls* calls, Deletions* deletions, Send send)
      : calls_(calls), deletions_(deletions), send_(std::move(send)) {}

  // Sends SIGTERM to the command's tree, and SIGKILL after 2 s. Answers the
  // request of this id when the server has delivered the signal, or does not
  // answer.
  void Request(absl::string_view id, const std::string& execution_name);

  // The same without a request.
  void Kill(const std::string& execution_name);

  // Sends SIGKILL to the tree. If the server refuses it, the execution is
  // deleted.
  void Force(const std::string& execution_name);

  // Returns true if the request of this id is pending. The signal may be on its
  // way, so a cancelled request is answered as if it was not cancelled.
  bool IsPending(absl::string_view id) const;

 private:
  ServerCalls* const calls_;
  Deletions* const deletions_;
  Send send_;
  std::multiset<std::string> pending_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_KILLS_H_
