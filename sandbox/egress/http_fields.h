// The fields in the head of an HTTP/1 message (RFC 9110 and 9112).

#ifndef SANDBOX_EGRESS_HTTP_FIELDS_H_
#define SANDBOX_EGRESS_HTTP_FIELDS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace egress {

// Larger heads are malformed.
inline constexpr size_t kMaxHttpHead = 64 << 10;
inline constexpr absl::string_view kHttpLineEnd = "\r\n";
inline constexpr absl::string_view kHttpHeadEnd = "\r\n\r\n";

// The fields in their order: names in their own case, values without spaces
// around them.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

// True if `text` is a token of RFC 9110.
bool IsHttpToken(absl::string_view text);

// True for control characters except the tab. No line may have one.
bool IsHttpControl(char c);

// Reads a head without its empty line. `first` gets the first line. Returns
// false if it is malformed. Strict: lines end in CR LF, names have no spaces,
// no line is folded.
bool ReadHttpHead(absl::string_view head, absl::string_view* first,
                  HttpFields* fields);

// The values of all fields of this name, in any case.
std::vector<absl::string_view> ValuesOf(const HttpFields& fields,
                                        absl::string_view name);

// True if a comma-separated list in a field of this name has the element, in
// any case.
bool Lists(const HttpFields& fields, absl::string_view name,
           absl::string_view element);

// Returns true for the fields that concern one connection and are replaced:
// Connection, Keep-Alive and Proxy-Connection.
bool ConcernsConnection(absl::string_view name);

// The head of the message with the first line and these fields.
std::string MakeHttpHead(absl::string_view first, const HttpFields& fields);

}  // namespace egress

#endif  // SANDBOX_EGRESS_HTTP_FIELDS_H_
