// The profiles of known agents: what each needs in a sandbox of its own.

#ifndef BRIDGE_ACP_PROFILES_AGENT_PROFILES_H_
#define BRIDGE_ACP_PROFILES_AGENT_PROFILES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "corral/config/v1/agent_profile.pb.h"

namespace bridge {

// The profiles of profiles.textproto, which is a part of this program.
const corral::config::v1::AgentProfiles& KnownProfiles();

// Returns null if there is no profile of this name.
const corral::config::v1::AgentProfile* ProfileNamed(absl::string_view name);

// Returns the profile of a program, which may be given with its directory.
// Returns null if there is none.
const corral::config::v1::AgentProfile* ProfileOf(absl::string_view program);

// The names of all, like "claude, codex".
std::string ProfileNames();

}  // namespace bridge

#endif  // BRIDGE_ACP_PROFILES_AGENT_PROFILES_H_
