#include "server/rpc/output_cursor.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/output_log.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/validation.h"
#include "server/core/execution.h"
#include "server/rpc/log_read.h"

namespace server {
namespace {

using corral::v1::OutputEvent;
using corral::v1::Stream;

// Larger ones cost a stream of much output less CPU time for each byte. A
// reader that has stopped reading holds one in memory, and gRPC a copy of it.
constexpr size_t kChunkBytes = 256 << 10;

void SetGap(Stream stream, uint64_t begin, uint64_t end, OutputEvent* event) {
  corral::v1::Gap* gap = event->mutable_gap();
  gap->set_stream(stream);
  gap->set_begin_offset(begin);
  gap->set_end_offset(end);
}

}  // namespace

absl::StatusOr<OutputCursor> OutputCursor::Create(
    std::shared_ptr<Execution> execution,
    const google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>& wanted,
    bool follow) {
  RETURN_IF_ERROR(CheckCursors(*execution, wanted));
  std::vector<Position> positions;
  for (const auto& cursor : wanted) {
    positions.push_back({cursor.stream(), cursor.offset(), nullptr});
  }
  if (wanted.empty()) {
    for (const Stream stream : StreamsOf(execution->command())) {
      positions.push_back({stream, std::nullopt, nullptr});
    }
  }
  return OutputCursor(std::move(execution), std::move(positions), follow);
}

absl::StatusOr<OutputCursor::Next> OutputCursor::Advance(OutputEvent* event) {
  if (reading_ == Reading::kRunning) {
    return Next::kIdle;
  }
  // The end is read before the logs. So everything that was written before the
  // end is found.
  const corral::v1::Execution::State state = execution_->state();
  if (finished_ || state == corral::v1::Execution::STARTING) {
    return finished_ ? Next::kEnd : Next::kIdle;
  }
  ASSIGN_OR_RETURN(const Next opening, Open(event));
  if (opening != Next::kIdle) {
    return opening;
  }
  if (IsEnd(state) && !limited_) {
    SetLimits();
  }
  for (size_t i = 0; i < positions_.size(); ++i) {
    const Next next = Read(&positions_[(turn_ + i) % positions_.size()], event);
    if (next != Next::kIdle) {
      turn_ += i + 1;
      return next;
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

absl::StatusOr<OutputCursor::Next> OutputCursor::Open(OutputEvent* event) {
  if (reading_ == Reading::kDone) {
    reading_ = Reading::kNot;
    ASSIGN_OR_RETURN(const Next next,
                     Use(*std::exchange(read_, std::nullopt), event));
    if (next == Next::kEvent) {
      return next;
    }
  }
  if (!begun_) {
    ASSIGN_OR_RETURN(const Next next, Begin());
    if (next == Next::kRead) {
      return next;
    }
  }
  if (!opened_) {
    opened_ = true;
    *event->mutable_opened() = execution_->Describe();
    return Next::kEvent;
  }
  return Next::kIdle;
}

absl::StatusOr<OutputCursor::Next> OutputCursor::Begin() {
  for (Position& position : positions_) {
    const std::optional<sandbox::OutputLogState> known =
        execution_->output(position.stream);
    if (!known.has_value() && !position.missing) {
      // It is not known yet if there is a log: a read of no bytes finds out.
      return Want(LogRead(execution_, position.stream, nullptr, 0, 0, ""));
    }
    const sandbox::OutputLogState state =
        known.value_or(sandbox::OutputLogState());
    const uint64_t offset = position.offset.value_or(state.begin);
    const std::string& name = corral::v1::Stream_Name(position.stream);
    if (offset > state.end) {
      return OffsetOutOfRange(name, offset, state.end);
    }
    if (state.expired && offset < state.begin) {
      return OutputExpired(name, state.begin, state.end);
    }
    position.offset = offset;
  }
  begun_ = true;
  if (!follow_) {
    SetLimits();
  }
  return Next::kIdle;
}

void OutputCursor::SetLimits() {
  for (Position& position : positions_) {
    const auto state = execution_->output(position.stream);
    position.limit = state.has_value() ? state->end : 0;
  }
  limited_ = true;
}

OutputCursor::Next OutputCursor::Read(Position* position, OutputEvent* event) {
  const std::optional<sandbox::OutputLogState> state =
      execution_->output(position->stream);
  if (!state.has_value()) {
    return Next::kIdle;
  }
  const uint64_t offset = *position->offset;
  const uint64_t end = std::min(position->limit, state->end);
  if (offset >= end) {
    return Next::kIdle;
  }
  if (const uint64_t kept = SkipDropped(*state, offset); kept > offset) {
    SetGap(position->stream, offset, kept, event);
    position->offset = kept;
    return Next::kEvent;
  }
  if (position->missing) {
    SetGap(position->stream, offset, end, event);
    position->offset = end;
    return Next::kEvent;
  }
  std::string* buffer = event->mutable_chunk()->mutable_data();
  LogRead read(execution_, position->stream, position->log, offset,
               std::min<uint64_t>(kChunkBytes, end - offset),
               std::move(*buffer));
  if (!read.Try()) {
    return Want(std::move(read));
  }
  position->log = read.log();
  *buffer = read.TakeData();
  event->mutable_chunk()->set_stream(position->stream);
  event->mutable_chunk()->set_offset(offset);
  position->offset = offset + buffer->size();
  return Next::kEvent;
}

OutputCursor::Next OutputCursor::Want(LogRead read) {
  read_ = std::move(read);
  reading_ = Reading::kWanted;
  return Next::kRead;
}

LogRead OutputCursor::TakeRead() {
  reading_ = Reading::kRunning;
  return *std::exchange(read_, std::nullopt);
}

void OutputCursor::Put(LogRead done) {
  read_ = std::move(done);
  reading_ = Reading::kDone;
}

absl::StatusOr<OutputCursor::Next> OutputCursor::Use(LogRead read,
                                                     OutputEvent* event) {
  Position& position = *std::find_if(positions_.begin(), positions_.end(),
                                     [&read](const Position& candidate) {
                                       return candidate.stream == read.stream();
                                     });
  position.log = read.log();
  if (absl::IsNotFound(read.status())) {
    position.missing = true;
    return Next::kIdle;
  }
  if (absl::IsOutOfRange(read.status())) {
    return Next::kIdle;  // the next Read() finds the gap
  }
  if (!read.status().ok()) {
    return ToReadError(*execution_, read.status());
  }
  std::string data = read.TakeData();
  if (data.empty()) {
    return Next::kIdle;
  }
  corral::v1::Chunk* chunk = event->mutable_chunk();
  chunk->set_stream(position.stream);
  chunk->set_offset(read.offset());
  position.offset = read.offset() + data.size();
  *chunk->mutable_data() = std::move(data);
  return Next::kEvent;
}

corral::v1::Heartbeat OutputCursor::Heartbeat() const {
  corral::v1::Heartbeat heartbeat;
  for (const Position& position : positions_) {
    if (const auto state = execution_->output(position.stream);
        state.has_value()) {
      *heartbeat.add_streams() = ToStreamState(position.stream, *state);
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

absl::Status CheckCursors(
    const Execution& execution,
    const google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>&
        cursors) {
  std::set<Stream> seen;
  for (int i = 0; i < cursors.size(); ++i) {
    const Stream stream = cursors[i].stream();
    const std::string field = absl::StrCat("cursors[", i, "].stream");
    RETURN_IF_ERROR(CheckStream(field, stream));
    RETURN_IF_ERROR(CheckHasStream(execution, stream));
    if (!seen.insert(stream).second) {
      return InvalidField(field, corral::v1::Stream_Name(stream),
                          "each stream once");
    }
  }
  return absl::OkStatus();
}

}  // namespace server
