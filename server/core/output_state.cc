#include "server/core/output_state.h"

#include <algorithm>
#include <optional>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/storage/output_log.h"

namespace server {
namespace {

namespace wire = ::corral::supervisor::v1;

corral::v1::Stream FromWire(wire::Stream stream) {
  switch (stream) {
    case wire::STDERR:
      return corral::v1::STDERR;
    case wire::TERMINAL:
      return corral::v1::TERMINAL;
    default:
      return corral::v1::STDOUT;
  }
}

}  // namespace

void OutputState::Merge(corral::v1::Stream stream,
                        const sandbox::OutputLogState& report) {
  const auto place =
      std::find_if(logs_.begin(), logs_.end(), [stream](const Log& each) {
        return each.stream == stream ||
               each.stream == corral::v1::STREAM_UNSPECIFIED;
      });
  if (place == logs_.end()) {
    return;
  }
  Log* const log = &*place;
  log->stream = stream;
  log->begin = std::max(log->begin, report.begin);
  log->end = std::max(log->end, report.end);
  if (report.gap_end > log->gap_end) {
    log->gap_begin = report.gap_begin;
    log->gap_end = report.gap_end;
  }
  log->closed = log->closed || report.closed;
  log->expired = log->expired || report.expired;
  if (log->expired) {
    log->begin = log->end;
    log->gap_begin = 0;
    log->gap_end = 0;
  }
}

std::optional<sandbox::OutputLogState> OutputState::Find(
    corral::v1::Stream stream) const {
  for (const Log& log : logs_) {
    if (log.stream == stream && stream != corral::v1::STREAM_UNSPECIFIED) {
      sandbox::OutputLogState state;
      state.begin = log.begin;
      state.end = log.end;
      state.closed = log.closed;
      state.gap_begin = log.gap_begin;
      state.gap_end = log.gap_end;
      state.expired = log.expired;
      return state;
    }
  }
  return std::nullopt;
}

void OutputState::Merge(const wire::StreamState& report) {
  sandbox::OutputLogState state;
  state.begin = report.begin();
  state.end = report.end();
  state.gap_begin = report.gap_begin();
  state.gap_end = report.gap_end();
  state.closed = report.closed();
  state.expired = report.expired();
  Merge(FromWire(report.stream()), state);
}

}  // namespace server
