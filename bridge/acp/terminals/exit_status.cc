#include "bridge/acp/terminals/exit_status.h"

#include "bridge/acp/terminals/end_note.h"
#include "bridge/options/signal_name.h"

namespace bridge {
namespace {

constexpr int kShellBase = 128;

}  // namespace

ExitStatus ToExitStatus(const corral::v1::Execution& execution,
                        SignalCodes codes) {
  ExitStatus status;
  status.cause = MakeEndNote(execution).cause;
  const corral::v1::ExitStatus& exit = execution.exit();
  if (exit.has_code()) {
    status.code = exit.code();
  } else if (exit.has_signal()) {
    status.signal = SignalName(exit.signal());
    if (codes == SignalCodes::kAsShell) {
      status.code = kShellBase + exit.signal();
    }
  }
  return status;
}

}  // namespace bridge
