// Names of hosts that untrusted programs chose.

#ifndef BRIDGE_ACP_HOSTS_PLAIN_NAME_H_
#define BRIDGE_ACP_HOSTS_PLAIN_NAME_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Returns the one spelling of a name: lower case, without the final dot.
// Nothing for what a person should not be asked about: an empty or too long
// name, and one with other characters than letters and digits of ASCII, "-",
// "_" and ".". So a "*" never becomes a rule for many hosts.
std::optional<std::string> PlainName(absl::string_view name);

// At most 64 bytes of a plain name for a title. A longer name loses its
// beginning, since its end says whose name it is.
std::string TitleOfName(const std::string& name);

}  // namespace bridge

#endif  // BRIDGE_ACP_HOSTS_PLAIN_NAME_H_
