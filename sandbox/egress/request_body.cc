#include "sandbox/egress/request_body.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace egress {

ByteFilter::State RequestBody::state() const {
  switch (kind_) {
    case HttpRequest::Body::kNone:
      return State::kDone;
    case HttpRequest::Body::kSized:
      return rest_ == 0 ? State::kDone : State::kFiltering;
    case HttpRequest::Body::kChunked:
      break;
  }
  if (chunked_.malformed()) {
    return State::kMalformed;
  }
  return chunked_.complete() ? State::kDone : State::kFiltering;
}

void RequestBody::Filter(absl::string_view bytes, std::string* out) {
  size_t part = 0;
  if (kind_ == HttpRequest::Body::kSized) {
    part = std::min<uint64_t>(rest_, bytes.size());
    rest_ -= part;
  } else if (kind_ == HttpRequest::Body::kChunked) {
    part = chunked_.Read(bytes);
  }
  absl::StrAppend(out, bytes.substr(0, part));
}

}  // namespace egress
