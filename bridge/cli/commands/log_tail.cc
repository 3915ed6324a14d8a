#include "bridge/cli/commands/log_tail.h"

#include <algorithm>

#include "bridge/client/call.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr uint64_t kPieceBytes = 256 << 10;

}  // namespace

bool LineCounter::Take(absl::string_view piece) {
  for (size_t i = piece.size(); i > 0; --i) {
    if (piece[i - 1] == '\n' && !at_end_ && ++newlines_ == wanted_) {
      begin_ = i;
      return true;
    }
    if (wanted_ == 0) {
      begin_ = i;
      return true;
    }
    at_end_ = false;
  }
  return false;
}

absl::StatusOr<uint64_t> FindTail(client::Connection& connection,
                                  const std::string& name,
                                  const corral::v1::StreamState& state,
                                  uint64_t lines) {
  // Bytes below a gap are not part of the tail.
  const uint64_t oldest =
      state.gap_begin_offset() < state.gap_end_offset()
          ? std::max(state.begin_offset(), state.gap_end_offset())
          : state.begin_offset();
  LineCounter counter(lines);
  for (uint64_t end = state.end_offset(); end > oldest;) {
    const uint64_t begin = std::max(oldest, end - std::min(end, kPieceBytes));
    corral::v1::ReadOutputRequest request;
    request.set_name(name);
    request.set_stream(state.stream());
    request.set_offset(begin);
    request.set_max_bytes(static_cast<uint32_t>(end - begin));
    ASSIGN_OR_RETURN(
        const corral::v1::ReadOutputResponse response,
        client::Call(connection,
                     &corral::v1::ExecutionService::StubInterface::ReadOutput,
                     request));
    if (counter.Take(response.data())) {
      return response.offset() + counter.begin();
    }
    if (response.offset() > begin || response.data().empty()) {
      return response.offset();  // the bytes below have expired meanwhile
    }
    end = begin;
  }
  return oldest;
}

}  // namespace bridge
