#include "server/rpc/output_cursor.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/output_log.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/api/validation.h"
#include "server/core/execution.h"

namespace server {
namespace {

using corral::v1::OutputEvent;
using corral::v1::Stream;

constexpr size_t kChunkBytes = 64 << 10;
// Before a log is opened again that no descriptor was left for.
constexpr absl::Duration kOpenRetry = absl::Milliseconds(200);

absl::StatusOr<sandbox::OutputLogState> StateOf(
    const Execution::LogReader& log) {
  absl::StatusOr<sandbox::OutputLogState> state = log->state();
  return state.ok() ? std::move(state) : ServerFault("output", state.status());
}

}  // namespace

absl::StatusOr<OutputFollower> OutputFollower::Create(
    std::shared_ptr<Execution> execution,
    const google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>& wanted,
    bool follow) {
  std::vector<Cursor> cursors;
  std::set<Stream> seen;
  for (const auto& cursor : wanted) {
    const std::string field =
        absl::StrCat("cursors[", cursors.size(), "].stream");
    RETURN_IF_ERROR(CheckStream(field, cursor.stream()));
    RETURN_IF_ERROR(CheckHasStream(*execution, cursor.stream()));
    if (!seen.insert(cursor.stream()).second) {
      return InvalidField(field, corral::v1::Stream_Name(cursor.stream()),
                          "each stream once");
    }
    cursors.push_back({cursor.stream(), cursor.offset(), nullptr});
  }
  if (wanted.empty()) {
    for (const Stream stream : StreamsOf(execution->command())) {
      cursors.push_back({stream, std::nullopt, nullptr});
    }
  }
  OutputFollower follower(std::move(execution), std::move(cursors), follow);
  if (follower.execution_->state() != corral::v1::Execution::STARTING) {
    RETURN_IF_ERROR(follower.OpenLogs());
  }
  return follower;
}

absl::Status OutputFollower::OpenLogs() {
  for (Cursor& cursor : cursors_) {
    absl::StatusOr<Execution::LogReader> log =
        execution_->OpenLog(cursor.stream);
    if (!log.ok() && !absl::IsNotFound(log.status())) {
      return ToOpenError(*execution_, log.status());
    }
    sandbox::OutputLogState state;
    if (log.ok()) {
      ASSIGN_OR_RETURN(state, StateOf(*log));
    }
    if (cursor.offset.value_or(0) > state.end) {
      return OffsetOutOfRange(corral::v1::Stream_Name(cursor.stream),
                              *cursor.offset, state.end);
    }
    cursor.offset = cursor.offset.value_or(state.begin);
    if (state.expired && *cursor.offset < state.begin) {
      return OutputExpired(corral::v1::Stream_Name(cursor.stream), state.begin,
                           state.end);
    }
    cursor.log = log.ok() ? *std::move(log) : nullptr;
  }
  logs_open_ = true;
  return follow_ ? absl::OkStatus() : SetLimits();
}

absl::Status OutputFollower::SetLimits() {
  for (Cursor& cursor : cursors_) {
    cursor.limit = 0;
    if (cursor.log != nullptr) {
      ASSIGN_OR_RETURN(const sandbox::OutputLogState state,
                       StateOf(cursor.log));
      cursor.limit = state.end;
    }
  }
  limited_ = true;
  return absl::OkStatus();
}

absl::StatusOr<OutputFollower::Next> OutputFollower::Advance(
    OutputEvent* event) {
  // Looked at before the logs: what was written before the end is found then.
  const corral::v1::Execution::State state = execution_->state();
  if (finished_ || state == corral::v1::Execution::STARTING) {
    return finished_ ? Next::kEnd : Next::kIdle;
  }
  if (!logs_open_) {
    RETURN_IF_ERROR(OpenLogs());
  }
  if (!opened_) {
    opened_ = true;
    *event->mutable_opened() = execution_->Describe();
    return Next::kEvent;
  }
  if (IsEnd(state) && !limited_) {
    RETURN_IF_ERROR(SetLimits());
  }
  for (size_t i = 0; i < cursors_.size(); ++i) {
    Cursor* cursor = &cursors_[(turn_ + i) % cursors_.size()];
    ASSIGN_OR_RETURN(const bool found, Read(cursor, event));
    if (found) {
      turn_ += i + 1;
      return Next::kEvent;
    }
  }
  if (!limited_) {
    return Next::kIdle;
  }
  finished_ = true;
  if (!IsEnd(state)) {
    return Next::kEnd;
  }
  *event->mutable_ended() = execution_->Describe();
  return Next::kLast;
}

absl::StatusOr<bool> OutputFollower::Read(Cursor* cursor, OutputEvent* event) {
  if (cursor->log == nullptr) {
    return false;
  }
  const uint64_t offset = *cursor->offset;
  ASSIGN_OR_RETURN(const sandbox::OutputLogState state, StateOf(cursor->log));
  const uint64_t end = std::min(cursor->limit, state.end);
  if (offset >= end) {
    return false;
  }
  corral::v1::Chunk* chunk = event->mutable_chunk();
  std::string* data = chunk->mutable_data();
  data->resize(std::min<uint64_t>(kChunkBytes, end - offset));
  const absl::StatusOr<size_t> got =
      cursor->log->Read(offset, data->data(), data->size());
  if (absl::IsOutOfRange(got.status())) {
    ASSIGN_OR_RETURN(const sandbox::OutputLogState now, StateOf(cursor->log));
    const uint64_t kept = SkipDropped(now, offset);
    corral::v1::Gap* gap = event->mutable_gap();
    gap->set_stream(cursor->stream);
    gap->set_begin_offset(offset);
    gap->set_end_offset(kept);
    cursor->offset = kept;
    return true;
  }
  if (!got.ok()) {
    return ServerFault("output", got.status());
  }
  data->resize(*got);
  chunk->set_stream(cursor->stream);
  chunk->set_offset(offset);
  cursor->offset = offset + *got;
  return *got > 0;
}

corral::v1::Heartbeat OutputFollower::Heartbeat() const {
  corral::v1::Heartbeat heartbeat;
  for (const Cursor& cursor : cursors_) {
    if (cursor.log == nullptr) {
      continue;
    }
    if (const auto state = cursor.log->state(); state.ok()) {
      *heartbeat.add_streams() = ToStreamState(cursor.stream, *state);
    }
  }
  return heartbeat;
}

uint64_t SkipDropped(const sandbox::OutputLogState& state, uint64_t offset) {
  if (offset < state.begin) {
    offset = state.begin;
  }
  return offset >= state.gap_begin && offset < state.gap_end ? state.gap_end
                                                             : offset;
}

absl::Status ToOpenError(const Execution& execution,
                         const absl::Status& cause) {
  const absl::StatusOr<ExecutionName> name =
      ExecutionName::Parse("name", execution.name());
  if (!absl::IsResourceExhausted(cause) || !name.ok()) {
    return ServerFault("output", cause);
  }
  return SandboxUnavailable(name->sandbox().ToString(), cause.message(),
                            kOpenRetry, "READY");
}

absl::Status CheckHasStream(const Execution& execution, Stream stream) {
  if (execution.has_stream(stream)) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition,
               corral::v1::NO_SUCH_STREAM,
               absl::StrCat(execution.name(), " has no stream ",
                            corral::v1::Stream_Name(stream)),
               {{"name", execution.name()}});
}

}  // namespace server
