// Lets the body of one HTTP request pass and nothing after it.

#ifndef SANDBOX_EGRESS_REQUEST_BODY_H_
#define SANDBOX_EGRESS_REQUEST_BODY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/egress/byte_filter.h"
#include "sandbox/egress/chunked_body.h"
#include "sandbox/egress/http_request.h"

namespace egress {

// A request that asks for an upgrade has the body that its fields state.
class RequestBody final : public ByteFilter {
 public:
  explicit RequestBody(const HttpRequest& request)
      : kind_(request.body), rest_(request.body_size) {}

  State state() const override;
  void Filter(absl::string_view bytes, std::string* out) override;
  // The body is incomplete, which the receiver notices.
  void Finish(std::string* /*out*/) override {}

 private:
  const HttpRequest::Body kind_;
  // The bytes that remain of a body that is kSized.
  uint64_t rest_;
  // Used for a body that is kChunked.
  ChunkedBody chunked_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_REQUEST_BODY_H_
