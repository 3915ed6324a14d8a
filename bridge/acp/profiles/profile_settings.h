#ifndef BRIDGE_ACP_PROFILES_PROFILE_SETTINGS_H_
#define BRIDGE_ACP_PROFILES_PROFILE_SETTINGS_H_

#include <string>
#include <vector>

#include "corral/config/v1/agent_profile.pb.h"

namespace bridge {

// The part of an agent's surroundings that follows from its profile.
struct ProfileSettings {
  // Each is NAME, with the value of this environment if it has one, or
  // NAME=VALUE.
  std::vector<std::string> variables;
  // Each is a value for --allow-host.
  std::vector<std::string> hosts;
};

// The options of the command line win: a profile has no say about
// the variables that --env names (`named`). `services`: the names that
// --service gives; a model whose service is among them is reached through it,
// without a credential. `common`: variables for every agent.
ProfileSettings Settle(
    const corral::config::v1::AgentProfile& profile,
    const google::protobuf::RepeatedPtrField<corral::config::v1::AgentVariable>&
        common,
    const std::vector<std::string>& named,
    const std::vector<std::string>& services);

}  // namespace bridge

#endif  // BRIDGE_ACP_PROFILES_PROFILE_SETTINGS_H_
