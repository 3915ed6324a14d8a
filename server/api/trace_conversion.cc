#include "server/api/trace_conversion.h"

#include <cstdint>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/trace.pb.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/time_util.h"

namespace server {
namespace {

using corral::v1::ExecutionTrace;
using google::protobuf::util::TimeUtil;

}  // namespace

ExecutionTrace FromWire(const wire::ExecutionTrace& trace) {
  ExecutionTrace result;
  *result.mutable_receive_time() =
      TimeUtil::NanosecondsToTimestamp(trace.receive_unix_ns());
  const auto set = [&result](int64_t nanos,
                             google::protobuf::Duration* (
                                 ExecutionTrace::*mutable_field)()) {
    if (nanos != 0) {
      *(result.*mutable_field)() = TimeUtil::NanosecondsToDuration(nanos);
    }
  };
  set(trace.admitted_ns(), &ExecutionTrace::mutable_admitted);
  set(trace.sent_ns(), &ExecutionTrace::mutable_sent);
  set(trace.accepted_ns(), &ExecutionTrace::mutable_accepted);
  set(trace.prepared_ns(), &ExecutionTrace::mutable_prepared);
  set(trace.spawning_ns(), &ExecutionTrace::mutable_spawning);
  set(trace.executing_ns(), &ExecutionTrace::mutable_executing);
  set(trace.executed_ns(), &ExecutionTrace::mutable_executed);
  set(trace.first_byte_ns(), &ExecutionTrace::mutable_first_byte);
  set(trace.exited_ns(), &ExecutionTrace::mutable_exited);
  set(trace.drained_ns(), &ExecutionTrace::mutable_drained);
  set(trace.recorded_ns(), &ExecutionTrace::mutable_recorded);
  return result;
}

}  // namespace server
