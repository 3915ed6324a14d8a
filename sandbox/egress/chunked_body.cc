#include "sandbox/egress/chunked_body.h"

#include <algorithm>

#include "sandbox/egress/http_fields.h"

namespace egress {
namespace {

// -1: no hexadecimal digit.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

size_t ChunkedBody::Read(absl::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size() && !complete() && !malformed()) {
    if (state_ != State::kData) {
      state_ = Next(bytes[at++]);
      continue;
    }
    const size_t part = std::min<uint64_t>(size_, bytes.size() - at);
    at += part;
    size_ -= part;
    if (size_ == 0) {
      state_ = State::kDataEnd;
    }
  }
  return at;
}

ChunkedBody::State ChunkedBody::Next(char c) {
  switch (state_) {
    case State::kSize:
    case State::kDigits:
    case State::kSpace:
      return NextInSize(c);
    case State::kExtension:
    case State::kSizeEnd:
      return NextAfterSize(c);
    case State::kDataEnd:
      return c == '\r' ? State::kDataLineFeed : State::kMalformed;
    case State::kDataLineFeed:
      digits_ = 0;
      return c == '\n' ? State::kSize : State::kMalformed;
    case State::kTrailer:
    case State::kTrailerName:
      return NextInTrailerName(c);
    case State::kTrailerValue:
      return NextInTrailerValue(c);
    case State::kTrailerEnd:
      return c == '\n' ? State::kTrailer : State::kMalformed;
    case State::kLastLineFeed:
      return c == '\n' ? State::kComplete : State::kMalformed;
    case State::kData:
    case State::kComplete:
    case State::kMalformed:
      break;
  }
  return State::kMalformed;
}

ChunkedBody::State ChunkedBody::NextInSize(char c) {
  const int digit = DigitOf(c);
  if (digit >= 0 && state_ != State::kSpace) {
    return AddDigit(digit);
  }
  if (state_ == State::kSize) {
    return State::kMalformed;
  }
  switch (c) {
    case ';':
      return State::kExtension;
    case ' ':
    case '\t':
      return Extra(State::kSpace);
    case '\r':
      return state_ == State::kDigits ? State::kSizeEnd : State::kMalformed;
    default:
      return State::kMalformed;
  }
}

ChunkedBody::State ChunkedBody::NextAfterSize(char c) {
  if (state_ == State::kSizeEnd) {
    if (c != '\n') {
      return State::kMalformed;
    }
    extra_ = 0;
    return size_ == 0 ? State::kTrailer : State::kData;
  }
  if (c == '\r') {
    return State::kSizeEnd;
  }
  return IsHttpControl(c) ? State::kMalformed : Extra(State::kExtension);
}

ChunkedBody::State ChunkedBody::NextInTrailerName(char c) {
  if (state_ == State::kTrailer && c == '\r') {
    return State::kLastLineFeed;
  }
  if (state_ == State::kTrailerName && c == ':') {
    return State::kTrailerValue;
  }
  return IsHttpToken({&c, 1}) ? Extra(State::kTrailerName) : State::kMalformed;
}

ChunkedBody::State ChunkedBody::NextInTrailerValue(char c) {
  if (c == '\r') {
    return State::kTrailerEnd;
  }
  return IsHttpControl(c) ? State::kMalformed : Extra(State::kTrailerValue);
}

ChunkedBody::State ChunkedBody::AddDigit(int digit) {
  size_ = size_ * 16 + static_cast<uint64_t>(digit);
  return ++digits_ <= kMaxDigits ? State::kDigits : State::kMalformed;
}

ChunkedBody::State ChunkedBody::Extra(State state) {
  return ++extra_ <= kMaxExtra ? state : State::kMalformed;
}

}  // namespace egress
