// Finds where the members of a JSON object stand in its text, so that one of
// them can be read or replaced while every other byte stays as written.

#ifndef BRIDGE_JSONRPC_MEMBERS_H_
#define BRIDGE_JSONRPC_MEMBERS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bridge {

struct Member {
  // The name without quotes and escapes.
  std::string name;
  // The text as written, without the space around it. Points into the scanned
  // text.
  absl::string_view value;
};

// JavaScript's JSON.parse does not skip it, other parsers do.
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns the members of an object in the order of the text, or nothing if
// `text` is not one object. White space around it and a byte order mark before
// it are allowed.
//
// Skips nested values without checking them: only IsJson() says whether all of
// `text` is JSON. Takes one pass and memory for the outermost members only,
// however deep values nest; does not recurse.
std::optional<std::vector<Member>> ScanObject(absl::string_view text);

// Returns the texts of the elements of an array, under the same conditions.
std::optional<std::vector<absl::string_view>> ScanArray(absl::string_view text);

// Returns `text` with `part`, which points into it, replaced.
std::string ReplacePart(absl::string_view text, absl::string_view part,
                        absl::string_view replacement);

// Returns the text of the last member of that name, the one that counts, or
// nothing if there is none.
std::optional<absl::string_view> FindMember(const std::vector<Member>& members,
                                            absl::string_view name);

}  // namespace bridge

#endif  // BRIDGE_JSONRPC_MEMBERS_H_
