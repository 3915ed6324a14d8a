#ifndef BRIDGE_ACP_DISPLAY_MIRRORS_H_
#define BRIDGE_ACP_DISPLAY_MIRRORS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bridge/acp/display/shown_terminal.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/requests/own_requests.h"

namespace bridge {

// Terminals of the client's own, in which `corral attach` shows what a command
// in the sandbox writes. Used on the loop's thread only.
class Mirrors {
 public:
  using OnTerminal =
      absl::AnyInvocable<void(const std::shared_ptr<ShownTerminal>&)>;
  struct Reactions {
    // The mirror can be shown, or the client has refused it.
    OnTerminal opened;
    // The user has stopped the mirror while the command runs.
    OnTerminal stopped;
    // The mirror shows nothing, for instance because `corral` is missing.
    OnTerminal failed;
  };

  // `attach` is the command; the execution's name is appended. A deletion waits
  // for a mirror for `longest_wait`. Both pointers must outlive this object.
  Mirrors(PollLoop* loop, OwnRequests* requests,
          std::vector<std::string> attach, Reactions reactions,
          absl::Duration longest_wait = absl::Seconds(10));

  bool available() const { return !attach_.empty(); }

  void Open(const std::shared_ptr<ShownTerminal>& terminal);

  // Releases the client's terminal, now or when it has shown everything. The
  // client goes on showing the output in its tool call.
  void Release(ShownTerminal& terminal);
  void ReleaseWhenShown(ShownTerminal& terminal);

  // Runs `done` when the mirror has shown everything, or after the longest
  // wait.
  void WhenShown(const std::shared_ptr<ShownTerminal>& terminal,
                 PollLoop::Action done);

 private:
  void OnOpened(const std::shared_ptr<ShownTerminal>& terminal,
                const Message& response);
  void OnEnded(const std::shared_ptr<ShownTerminal>& terminal,
               const Message& response);
  void SendRelease(const ShownTerminal& terminal);

  PollLoop* const loop_;
  OwnRequests* const requests_;
  const std::vector<std::string> attach_;
  Reactions reactions_;
  const absl::Duration longest_wait_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_MIRRORS_H_
