// Classifies a line as a kind of JSON-RPC 2.0 message
// (https://www.jsonrpc.org/specification).

#ifndef BRIDGE_JSONRPC_MESSAGE_H_
#define BRIDGE_JSONRPC_MESSAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/json.h"

namespace bridge {

// Holds views into the line, which must outlive it. Does not require the member
// "jsonrpc".
class Message {
 public:
  enum class Kind {
    kRequest,       // has a method and an id, which may be null
    kNotification,  // has a method and no id
    kResponse,      // has no method, but an id and a result or an error
    kBatch,         // an array, whether it is valid JSON or not
    kBroken,        // begins like an object, but is not valid JSON
    kOther,         // another JSON object, or text that is no message
  };

  // Looks at the outermost object only; ScanObject() says what is not checked.
  static Message Classify(absl::string_view line);

  Kind kind() const { return kind_; }

  // Empty unless this is a request or a notification.
  const std::string& method() const { return method_; }

  // Returns true if a peer may see, instead of method(), another method, which
  // begins with `prefix`. That happens if the object has several members of
  // that name and the peer takes another one than this parser, or ignores the
  // case of names as Go's parser does.
  bool MayMeanMethod(absl::string_view prefix) const;

  // The text as written. Empty unless this is a request or a response.
  absl::string_view id() const { return id_; }

  // The text as written. Empty if the message has no params.
  absl::string_view params() const { return params_; }
  // The text as written. Empty unless this is a response that reports success.
  absl::string_view result() const { return result_; }

 private:
  Kind kind_ = Kind::kOther;
  std::string method_;
  std::vector<std::string> other_methods_;
  absl::string_view id_;
  absl::string_view params_;
  absl::string_view result_;
};

// Returns one text for all spellings of a string ("a" and "\u0061"), and any
// other id as it is written, so that ids can be compared.
std::string CanonicalId(absl::string_view id);

// Returns the decoded string value of a member of the object `text`, or nothing
// if there is no such member or it is not a string.
std::optional<std::string> StringMember(absl::string_view text,
                                        absl::string_view name);

}  // namespace bridge

#endif  // BRIDGE_JSONRPC_MESSAGE_H_
