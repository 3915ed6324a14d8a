#include "server/api/trace_conversion.h"

#include <cstdint>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "corral/v1/trace.pb.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/time_util.h"
#include "server/api/conversion.h"

namespace server {
namespace {

using corral::v1::ExecutionTrace;
using corral::v1::SandboxTrace;
using google::protobuf::util::TimeUtil;

// Sets the field of a trace, unless it is absent.
template <typename Trace>
void Set(int64_t nanos, google::protobuf::Duration* (Trace::*mutable_field)(),
         Trace* trace) {
  if (nanos != 0) {
    *(trace->*mutable_field)() = TimeUtil::NanosecondsToDuration(nanos);
  }
}

}  // namespace

ExecutionTrace FromWire(const wire::ExecutionTrace& trace) {
  ExecutionTrace result;
  *result.mutable_receive_time() =
      TimeUtil::NanosecondsToTimestamp(trace.receive_unix_ns());
  Set(trace.admitted_ns(), &ExecutionTrace::mutable_admitted, &result);
  Set(trace.sent_ns(), &ExecutionTrace::mutable_sent, &result);
  Set(trace.accepted_ns(), &ExecutionTrace::mutable_accepted, &result);
  Set(trace.prepared_ns(), &ExecutionTrace::mutable_prepared, &result);
  Set(trace.spawning_ns(), &ExecutionTrace::mutable_spawning, &result);
  Set(trace.executing_ns(), &ExecutionTrace::mutable_executing, &result);
  Set(trace.executed_ns(), &ExecutionTrace::mutable_executed, &result);
  Set(trace.first_byte_ns(), &ExecutionTrace::mutable_first_byte, &result);
  Set(trace.exited_ns(), &ExecutionTrace::mutable_exited, &result);
  Set(trace.drained_ns(), &ExecutionTrace::mutable_drained, &result);
  Set(trace.recorded_ns(), &ExecutionTrace::mutable_recorded, &result);
  return result;
}

void AddTrace(const wire::SandboxTrace& trace, corral::v1::Sandbox* sandbox) {
  if (trace.prepare_unix_ns() == 0) {
    return;
  }
  SandboxTrace* const result = sandbox->mutable_trace();
  *result->mutable_prepare_time() =
      TimeUtil::NanosecondsToTimestamp(trace.prepare_unix_ns());
  Set(trace.groups_ns(), &SandboxTrace::mutable_groups, result);
  Set(trace.namespaces_ns(), &SandboxTrace::mutable_namespaces, result);
  Set(trace.join_ns(), &SandboxTrace::mutable_join, result);
  Set(trace.mounts_ns(), &SandboxTrace::mutable_mounts, result);
  Set(trace.init_ns(), &SandboxTrace::mutable_init, result);
  Set(trace.spawner_ns(), &SandboxTrace::mutable_spawner, result);
  Set(trace.filter_ns(), &SandboxTrace::mutable_filter, result);
  Set(trace.ready_ns(), &SandboxTrace::mutable_ready, result);
  Set(trace.limits_ns(), &SandboxTrace::mutable_limits, result);
  Set(trace.workspaces_ns(), &SandboxTrace::mutable_workspaces, result);
  Set(trace.protection_ns(), &SandboxTrace::mutable_protection, result);
  Set(trace.way_out_ns(), &SandboxTrace::mutable_way_out, result);
  result->set_completed_ahead(trace.completed_ahead());
}

}  // namespace server
