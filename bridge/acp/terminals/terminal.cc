#include "bridge/acp/terminals/terminal.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

std::string Terminal::Append(uint64_t offset, absl::string_view bytes) {
  SkipTo(offset);
  const uint64_t known = std::min<uint64_t>(cursor_ - offset, bytes.size());
  bytes.remove_prefix(known);
  std::string text = decoder_.Decode(bytes);
  tail_.Append(text);
  cursor_ += bytes.size();
  return text;
}

std::string Terminal::AppendLine(absl::string_view line) {
  std::string text = decoder_.Finish();
  const absl::string_view before =
      text.empty() ? tail_.text() : absl::string_view(text);
  if (!before.empty() && !absl::EndsWith(before, "\n")) {
    text.push_back('\n');
  }
  absl::StrAppend(&text, line);
  tail_.Append(text);
  return text;
}

void Terminal::SkipTo(uint64_t offset) {
  if (offset <= cursor_) {
    return;
  }
  tail_.Append(decoder_.Finish());
  tail_.MarkTruncated();
  cursor_ = offset;
}

std::vector<std::string> Terminal::Exit(ExitStatus exit_status) {
  if (state_ != State::kRunning) {
    return {};
  }
  exit_status_ = std::move(exit_status);
  return End(State::kExited);
}

std::vector<std::string> Terminal::Lose(absl::string_view reason) {
  if (state_ != State::kRunning) {
    return {};
  }
  lost_reason_ = static_cast<std::string>(reason);
  return End(State::kLost);
}

std::vector<std::string> Terminal::End(State state) {
  state_ = state;
  tail_.Append(decoder_.Finish());
  return TakeWaits();
}

bool Terminal::RemoveWait(absl::string_view id) {
  const std::string canonical = CanonicalId(id);
  const auto wait = std::find_if(waits_.begin(), waits_.end(),
                                 [&canonical](const std::string& candidate) {
                                   return CanonicalId(candidate) == canonical;
                                 });
  if (wait == waits_.end()) {
    return false;
  }
  waits_.erase(wait);
  return true;
}

}  // namespace bridge
