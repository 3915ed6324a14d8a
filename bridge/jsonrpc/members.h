// Where the members of a JSON object stand in its text, so that one of them can
// be read or replaced and every other byte stays as it was written.

#ifndef BRIDGE_JSONRPC_MEMBERS_H_
#define BRIDGE_JSONRPC_MEMBERS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bridge {

struct Member {
  // Without quotes and escapes.
  std::string name;
  // As written, without the space around it. Points into the scanned text.
  absl::string_view value;
};

// The members of an object, in the order of the text; nothing if `text` is not
// an object with nothing but white space (and a byte order mark) around it.
//
// Nested values are skipped and not checked: only IsJson() tells whether all of
// `text` is JSON. One pass, memory for the outermost members only, whatever the
// depth.
std::optional<std::vector<Member>> ScanObject(absl::string_view text);

// The text of the last member with that name, which is the one that counts;
// nothing without one.
std::optional<absl::string_view> FindMember(const std::vector<Member>& members,
                                            absl::string_view name);

}  // namespace bridge

#endif  // BRIDGE_JSONRPC_MEMBERS_H_
