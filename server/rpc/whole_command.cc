#include "server/rpc/whole_command.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/v1/execution.pb.h"
#include "server/api/errors.h"
#include "server/core/execution.h"
#include "server/core/execution_records.h"

namespace server {

absl::Status ReadWholeCommand(const Execution& execution,
                              corral::v1::Execution* description) {
  absl::StatusOr<corral::v1::Command> command = ReadCommand(execution.path());
  if (command.ok()) {
    *description->mutable_command() = *std::move(command);
    return absl::OkStatus();
  }
  if (!absl::IsNotFound(command.status())) {
    return ServerFault("record", command.status());
  }
  // The record is not written yet, or was removed.
  return description->state() == corral::v1::Execution::STARTING
             ? absl::OkStatus()
             : ExecutionNotFound(execution.name());
}

}  // namespace server
