// Has the head of an HTTP/1 answer say that the connection ends with it, so
// that the client sends no further request on it.

#ifndef SANDBOX_EGRESS_ANSWER_HEAD_H_
#define SANDBOX_EGRESS_ANSWER_HEAD_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/egress/byte_filter.h"

namespace egress {

// Adds "Connection: close" in place of other fields about the connection,
// unless the answer says so itself, or changes the protocol (101). Interim
// answers (1xx) pass unchanged. So does what is no HTTP/1, or has a head above
// kMaxHttpHead: the client judges it.
class AnswerHead final : public ByteFilter {
 public:
  // kFiltering until the last head is complete, then kPassing.
  State state() const override { return state_; }
  void Filter(absl::string_view bytes, std::string* out) override;
  void Finish(std::string* out) override;

  // Returns the status of the last complete head; 0 before.
  int status() const { return status_; }

 private:
  // Takes a complete head from the begin of held_.
  void Take(size_t size, std::string* out);
  void PassOn(std::string* out);

  State state_ = State::kFiltering;
  std::string held_;
  // Where the end of a head may begin in held_.
  size_t searched_ = 0;
  int status_ = 0;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_ANSWER_HEAD_H_
