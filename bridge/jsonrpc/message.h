// What kind of JSON-RPC 2.0 message a line is
// (https://www.jsonrpc.org/specification).

#ifndef BRIDGE_JSONRPC_MESSAGE_H_
#define BRIDGE_JSONRPC_MESSAGE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/json.h"

namespace bridge {

// Views into a line, which must outlive it. A missing "jsonrpc" member is
// overlooked.
class Message {
 public:
  enum class Kind {
    kRequest,       // has a method and an id, which may be null
    kNotification,  // has a method and no id
    kResponse,      // has no method, but an id and a result or an error
    kOther,         // anything else: not an object, a batch, not JSON at all
  };

  // Looks at the outermost object only; see ScanObject() for what is not
  // checked.
  static Message Classify(absl::string_view line);

  Kind kind() const { return kind_; }

  // Empty unless a request or a notification.
  const std::string& method() const { return method_; }

  // As written. Empty unless a request or a response.
  absl::string_view id() const { return id_; }

  // As written; empty if the message has none.
  absl::string_view params() const { return params_; }
  // The same, of a response that reports success.
  absl::string_view result() const { return result_; }

 private:
  Kind kind_ = Kind::kOther;
  std::string method_;
  absl::string_view id_;
  absl::string_view params_;
  absl::string_view result_;
};

// One text for all spellings of an id ("a" and "\u0061"), so that ids can be
// compared. Nothing, if `id` is not a JSON string, number or null.
std::optional<std::string> CanonicalId(absl::string_view id);

// The decoded string value of a member of the object `text`; nothing without
// such a member.
std::optional<std::string> StringMember(absl::string_view text,
                                        absl::string_view name);

}  // namespace bridge

#endif  // BRIDGE_JSONRPC_MESSAGE_H_
