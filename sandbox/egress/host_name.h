// Host names, and the patterns of rules.

#ifndef SANDBOX_EGRESS_HOST_NAME_H_
#define SANDBOX_EGRESS_HOST_NAME_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace egress {

inline constexpr size_t kMaxHostName = 253;

// Returns the name in lower case and without the dot at its end, or nothing if
// it is no host name: labels of 1 to 63 letters, digits, "-" and "_", joined
// by dots, at most 253 bytes. Also refuses a name whose last label has only
// digits or begins with "0x": programs read it as an address.
std::optional<std::string> NormalizeHostName(absl::string_view name);

inline constexpr char kNamePatternRule[] =
    "a host name like example.com, or *.example.com for the names below it; no "
    "address";

class NamePattern {
 public:
  // Parses a host name, or "*." and a host name. Fails with InvalidArgument for
  // anything else; the message names what is allowed.
  static absl::StatusOr<NamePattern> Parse(absl::string_view text);

  // Returns true if the pattern matches `name`, which is normalized.
  // "*.example.com" matches all names below example.com, but not example.com.
  bool Matches(absl::string_view name) const;

  // True if this pattern matches all names that the other one matches.
  bool Covers(const NamePattern& other) const;

 private:
  NamePattern(bool wildcard, std::string name)
      : wildcard_(wildcard), name_(std::move(name)) {}

  bool wildcard_;
  // A wildcard keeps the dot at its beginning.
  std::string name_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_HOST_NAME_H_
