// Adds "Connection: close" to the head of an HTTP/1 answer, so that the client
// sends no further request on the connection.

#ifndef SANDBOX_EGRESS_ANSWER_HEAD_H_
#define SANDBOX_EGRESS_ANSWER_HEAD_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/egress/byte_filter.h"

namespace egress {

// Replaces the fields about the connection by "Connection: close", unless the
// answer has that already or changes the protocol (101). Interim answers (1xx)
// pass unchanged, and so do bytes that are not HTTP/1 and heads above
// kMaxHttpHead: the client judges them.
class AnswerHead final : public ByteFilter {
 public:
  // kFiltering until the last head is complete, then kPassing.
  State state() const override { return state_; }
  void Filter(absl::string_view bytes, std::string* out) override;
  void Finish(std::string* out) override;

  // Returns the status of the last complete head; 0 before.
  int status() const { return status_; }

 private:
  // Moves the complete head at the front of held_ to `out`.
  void Take(size_t size, std::string* out);
  void PassOn(std::string* out);

  State state_ = State::kFiltering;
  std::string held_;
  // The end of a head cannot begin in held_ before this position.
  size_t searched_ = 0;
  int status_ = 0;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_ANSWER_HEAD_H_
