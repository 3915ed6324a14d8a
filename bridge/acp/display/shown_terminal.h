#ifndef BRIDGE_ACP_DISPLAY_SHOWN_TERMINAL_H_
#define BRIDGE_ACP_DISPLAY_SHOWN_TERMINAL_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bridge/acp/display/display_route.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/terminals/exit_status.h"
#include "bridge/acp/terminals/text_tail.h"

namespace bridge {

// The bytes of output that a tool call holds as text, and those that may wait
// to be sent to a terminal that the client shows. Older output is left out.
constexpr size_t kTextBytes = 16 << 10;
constexpr size_t kPendingBytes = 256 << 10;

// One terminal of the agent: how the client shows it, and the output that the
// client does not have yet.
struct ShownTerminal {
  enum class Holder { kAgent, kNobody };
  enum class Meta {
    kUnknown,    // the client has not heard of the terminal
    kAnnounced,  // it shows the terminal
  };
  enum class Mirror {
    kNone,
    kAsked,     // the client was asked for a terminal
    kOpen,      // mirror_id runs `corral attach`
    kEnded,     // mirror_id still shows the output
    kReleased,  // the client was asked to forget mirror_id
  };
  // How long the client keeps a mirror that nobody embeds any more.
  enum class Keep { kForTurn, kUntilShown };
  enum class Timer { kIdle, kArmed };
  // kReported once the client knows that the command has ended.
  enum class End { kUnreported, kReported };

  std::string id;
  std::string session_id;
  std::string execution_name;  // empty: no command was started
  std::string cwd;
  DisplayRoute route = DisplayRoute::kText;

  // The tool call that shows it; empty: none.
  std::string call_id;
  Holder holder = Holder::kAgent;
  std::optional<ExitStatus> exit;
  End end = End::kUnreported;

  TextTail text{kTextBytes};
  TextTail pending{kPendingBytes};  // kMeta: output that was not sent yet
  bool changed = false;             // since output was sent last
  Timer timer = Timer::kIdle;

  Meta meta = Meta::kUnknown;
  Mirror mirror = Mirror::kNone;
  std::string mirror_id;
  Keep keep = Keep::kForTurn;
  // The actions to run when the mirror no longer needs the execution.
  std::vector<PollLoop::Action> when_shown = {};
};

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_SHOWN_TERMINAL_H_
