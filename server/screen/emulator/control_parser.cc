#include "server/screen/emulator/control_parser.h"

#include <cstdint>

#include "sandbox/base/utf8_tail.h"

namespace screen {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';
constexpr char kCancel = '\x18';
constexpr char kSubstitute = '\x1a';
constexpr char kDelete = '\x7f';
constexpr size_t kMaxText = 4096;

bool IsControlCharacter(char c) {
  return static_cast<uint8_t>(c) < 0x20 || c == kDelete;
}

bool IsIn(char c, char first, char last) { return c >= first && c <= last; }

ControlSequence Split(const std::string& raw) {
  ControlSequence sequence;
  size_t at = 2;  // behind ESC [
  if (at < raw.size() && IsIn(raw[at], '<', '?')) {
    sequence.prefix = raw[at++];
  }
  while (at < raw.size() && IsIn(raw[at], '0', ';')) {
    sequence.parameters += raw[at++];
  }
  while (at + 1 < raw.size()) {
    sequence.intermediates += raw[at++];
  }
  sequence.final = raw.back();
  sequence.raw = raw;
  return sequence;
}

}  // namespace

std::string ControlSequence::Name() const {
  std::string name;
  if (prefix != 0) {
    name += prefix;
  }
  return name + intermediates + final;
}

void ControlParser::Parse(absl::string_view output) {
  for (const char c : output) {
    ++parsed_;
    Put(c);
  }
  FlushText(/*whole=*/false);
}

void ControlParser::FlushText(bool whole) {
  const size_t kept = whole ? 0 : sandbox::IncompleteUtf8Tail(text_);
  if (text_.size() > kept) {
    const std::string rest = text_.substr(text_.size() - kept);
    text_.resize(text_.size() - kept);
    sink_->OnText(text_);
    text_ = rest;
  }
}

void ControlParser::Put(char c) {
  switch (state_) {
    case State::kText:
      PutText(c);
      return;
    case State::kEscape:
      PutEscape(c);
      return;
    case State::kControl:
      PutControl(c);
      return;
    case State::kString:
    case State::kStringEscape:
      PutString(c);
      return;
  }
}

void ControlParser::PutText(char c) {
  if (c == kEscape) {
    FlushText(/*whole=*/true);
    BeginEscape();
    return;
  }
  text_ += c;
  if (text_.size() >= kMaxText) {
    FlushText(/*whole=*/false);
  }
}

void ControlParser::BeginEscape() {
  pending_.assign(1, kEscape);
  too_long_ = false;
  Enter(State::kEscape);
}

bool ControlParser::Execute(char c) {
  if (!IsControlCharacter(c)) {
    return false;
  }
  if (c == kEscape) {
    BeginEscape();
  } else if (c == kCancel || c == kSubstitute) {
    Enter(State::kText);
  } else {
    sink_->OnText(absl::string_view(&c, 1));
  }
  return true;
}

void ControlParser::PutEscape(char c) {
  if (Execute(c)) {
    return;
  }
  pending_ += c;
  if (pending_.size() == 2 && c == '[') {
    Enter(State::kControl);
    return;
  }
  if (pending_.size() == 2 &&
      absl::string_view("]P_^X").find(c) != absl::string_view::npos) {
    kind_ = c == ']'   ? StringKind::kOsc
            : c == 'P' ? StringKind::kDcs
                       : StringKind::kIgnored;
    pending_.clear();
    Enter(State::kString);
    return;
  }
  if (IsIn(c, ' ', '/') && pending_.size() < kMaxSequence) {
    return;  // an intermediate character
  }
  Enter(State::kText);
  if (static_cast<uint8_t>(c) < 0x80 && pending_ != "\x1b\\") {
    sink_->OnEscape(pending_);
  }
}

void ControlParser::PutControl(char c) {
  if (Execute(c)) {
    return;
  }
  too_long_ = too_long_ || pending_.size() >= kMaxSequence;
  if (!too_long_) {
    pending_ += c;
  }
  if (IsIn(c, '@', '~') || static_cast<uint8_t>(c) >= 0x80) {
    Enter(State::kText);
    if (!too_long_ && static_cast<uint8_t>(c) < 0x80) {
      sink_->OnControl(Split(pending_));
    }
  }
}

void ControlParser::PutString(char c) {
  if (state_ == State::kStringEscape) {
    // ESC ends the string, with or without the backslash.
    EndString();
    if (c != '\\') {
      BeginEscape();
      PutEscape(c);
    }
    return;
  }
  if (c == kEscape) {
    Enter(State::kStringEscape);
  } else if (c == kCancel || c == kSubstitute) {
    Enter(State::kText);
  } else if (c == kBell && kind_ == StringKind::kOsc) {
    EndString();
  } else if (kind_ != StringKind::kIgnored) {
    too_long_ = too_long_ || pending_.size() >= kMaxString;
    if (!too_long_) {
      pending_ += c;
    }
  }
}

void ControlParser::EndString() {
  Enter(State::kText);
  if (!too_long_) {
    sink_->OnString(kind_, pending_);
  }
}

}  // namespace screen
