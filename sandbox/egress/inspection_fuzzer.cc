// Fuzzes the inspection of first bytes, and the parser of HTTP requests.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/base/log.h"
#include "sandbox/egress/http_request.h"
#include "sandbox/egress/inspection.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using State = egress::HttpRequest::State;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const egress::Inspection inspection = egress::Inspect(bytes, "example.com");
  const egress::HttpRequest request = egress::ParseHttpRequest(bytes);
  if (request.state != State::kComplete) {
    return 0;
  }
  CHECK(request.head_size <= size);
  const egress::HttpRequest sent =
      egress::ParseHttpRequest(egress::MakeOnlyRequest(request));
  CHECK(sent.state == State::kComplete);
  CHECK(egress::HostOf(sent) == egress::HostOf(request));
  CHECK(sent.body == request.body && sent.body_size == request.body_size);
  // Nothing that names another host gets out.
  if (inspection.state == egress::Inspection::State::kAccepted) {
    CHECK(egress::HostOf(request) == "example.com");
  }
  return 0;
}
