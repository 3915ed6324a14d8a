// Fuzzes chunked bodies, and the filter of bodies, whose bytes come in two
// parts.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/log.h"
#include "sandbox/egress/chunked_body.h"
#include "sandbox/egress/http_request.h"
#include "sandbox/egress/request_body.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  egress::ChunkedBody whole;
  const size_t taken = whole.Read(bytes);
  CHECK(taken <= size);
  CHECK(taken == size || whole.complete() || whole.malformed());
  if (whole.complete()) {
    CHECK(absl::EndsWith(bytes.substr(0, taken), "\r\n"));
  }
  egress::HttpRequest request;
  request.body = egress::HttpRequest::Body::kChunked;
  egress::RequestBody body(request);
  std::string passed;
  const size_t cut = size / 2;
  body.Filter(bytes.substr(0, cut), &passed);
  if (body.state() == egress::ByteFilter::State::kFiltering) {
    body.Filter(bytes.substr(cut), &passed);
  }
  CHECK(passed == bytes.substr(0, taken));
  return 0;
}
