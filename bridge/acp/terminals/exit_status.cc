#include "bridge/acp/terminals/exit_status.h"

#include <signal.h>
#include <string.h>

#include "absl/strings/str_cat.h"

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

std::string SignalName(int number) {
  if (const char* name = ::sigabbrev_np(number); name != nullptr) {
    return absl::StrCat("SIG", name);
  }
  if (number >= SIGRTMIN && number <= SIGRTMAX) {
    return absl::StrCat("SIGRTMIN+", number - SIGRTMIN);
  }
  return absl::StrCat("SIG", number);
}

}  // namespace bridge
