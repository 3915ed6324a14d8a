#include "bridge/acp/terminals/exit_status.h"

#include "bridge/options/signal_name.h"

namespace bridge {

ExitStatus ToExitStatus(const corral::v1::Execution& execution) {
  switch (execution.exit().how_case()) {
    case corral::v1::ExitStatus::kCode:
      return {execution.exit().code(), std::nullopt};
    case corral::v1::ExitStatus::kSignal:
      return {std::nullopt, SignalName(execution.exit().signal())};
    case corral::v1::ExitStatus::HOW_NOT_SET:
      return {};
  }
  return {};
}

}  // namespace bridge
