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
  switch (execution.exit().how_case()) {
    case corral::v1::ExitStatus::kCode:
      status.code = execution.exit().code();
      break;
    case corral::v1::ExitStatus::kSignal:
      status.signal = SignalName(execution.exit().signal());
      if (codes == SignalCodes::kAsShell) {
        status.code = kShellBase + execution.exit().signal();
      }
      break;
    case corral::v1::ExitStatus::HOW_NOT_SET:
      break;
  }
  return status;
}

}  // namespace bridge
