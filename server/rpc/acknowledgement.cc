#include "server/rpc/acknowledgement.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/core/execution.h"
#include "server/rpc/output_cursor.h"

namespace server {
namespace {

constexpr int kMaxCursors = 3;

}  // namespace

absl::Status CheckAcknowledgement(
    const corral::v1::AcknowledgeOutputRequest& request,
    const Execution& execution) {
  if (request.cursors().empty() || request.cursors_size() > kMaxCursors) {
    return InvalidField("cursors",
                        absl::StrCat(request.cursors_size(), " cursors"),
                        "1 to 3 cursors");
  }
  RETURN_IF_ERROR(CheckCursors(execution, request.cursors()));
  for (const corral::v1::StreamCursor& cursor : request.cursors()) {
    const auto state = execution.output(cursor.stream());
    const uint64_t end = state.has_value() ? state->end : 0;
    if (cursor.offset() > end) {
      return OffsetOutOfRange(corral::v1::Stream_Name(cursor.stream()),
                              cursor.offset(), end);
    }
  }
  return absl::OkStatus();
}

void SendAcknowledgement(const corral::v1::AcknowledgeOutputRequest& request,
                         const Execution& execution,
                         sandbox::SupervisorConnection* supervisor) {
  for (const corral::v1::StreamCursor& cursor : request.cursors()) {
    wire::Acknowledge acknowledge;
    acknowledge.set_execution_id(execution.id());
    acknowledge.set_stream(ToWire(cursor.stream()));
    acknowledge.set_offset(cursor.offset());
    supervisor->Acknowledge(acknowledge);
  }
}

}  // namespace server
