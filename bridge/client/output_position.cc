#include "bridge/client/output_position.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace client {

void OutputPosition::OpenStarted(const corral::v1::Execution& opened) {
  for (const corral::v1::StreamState& state : opened.streams()) {
    offsets_[state.stream()] = 0;
  }
}

void OutputPosition::OpenExisting(const corral::v1::Execution& opened,
                                  const Cursors& requested) {
  for (const corral::v1::StreamCursor& cursor : requested) {
    offsets_[cursor.stream()] = cursor.offset();
  }
  if (!requested.empty()) {
    return;
  }
  for (const corral::v1::StreamState& state : opened.streams()) {
    offsets_[state.stream()] = state.begin_offset();
    undecided_.insert(state.stream());
  }
}

absl::Status OutputPosition::Accept(const corral::v1::Chunk& chunk) {
  uint64_t& offset = offsets_[chunk.stream()];
  const bool undecided = undecided_.erase(chunk.stream()) > 0;
  if (undecided ? chunk.offset() < offset : chunk.offset() != offset) {
    return absl::DataLossError(absl::StrCat("the server sent output at offset ",
                                            chunk.offset(),
                                            " instead of offset ", offset));
  }
  offset = chunk.offset() + chunk.data().size();
  return absl::OkStatus();
}

void OutputPosition::Skip(const corral::v1::Gap& gap) {
  offsets_[gap.stream()] = gap.end_offset();
}

void OutputPosition::WriteTo(Cursors& cursors, uint64_t behind) const {
  cursors.Clear();
  for (const auto& [stream, offset] : offsets_) {
    corral::v1::StreamCursor* cursor = cursors.Add();
    cursor->set_stream(stream);
    cursor->set_offset(offset - std::min(offset, behind));
  }
}

}  // namespace client
