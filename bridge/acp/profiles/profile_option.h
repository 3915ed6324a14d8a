#ifndef BRIDGE_ACP_PROFILES_PROFILE_OPTION_H_
#define BRIDGE_ACP_PROFILES_PROFILE_OPTION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "bridge/options/option_table.h"
#include "corral/config/v1/agent_profile.pb.h"

namespace bridge {

// --agent-profile: which profile an agent has.
class ProfileOption {
 public:
  // The table refers to this object.
  void AddTo(OptionTable& table);

  bool is_given() const { return !name_.empty(); }

  // The profile for an agent whose program is this one; nullptr: none.
  const corral::config::v1::AgentProfile* Choose(
      absl::string_view program) const;

 private:
  // The name of a profile, or "none". Empty: the option was not given.
  std::string name_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_PROFILES_PROFILE_OPTION_H_
