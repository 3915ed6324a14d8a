#include "bridge/acp/profiles/agent_profiles.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "bridge/acp/profiles/profiles_text.h"
#include "google/protobuf/text_format.h"

namespace bridge {
namespace {

using corral::config::v1::AgentProfile;
using corral::config::v1::AgentProfiles;

template <typename Matches>
const AgentProfile* FindProfile(Matches matches) {
  const auto& all = KnownProfiles().agent();
  const auto found = std::find_if(all.begin(), all.end(), matches);
  return found == all.end() ? nullptr : &*found;
}

AgentProfiles* ReadProfiles() {
  auto* const profiles = new AgentProfiles;
  // A test reads the same text.
  google::protobuf::TextFormat::ParseFromString(
      static_cast<std::string>(sandbox::AgentProfilesText()), profiles);
  return profiles;
}

}  // namespace

const AgentProfiles& KnownProfiles() {
  static const AgentProfiles* const profiles = ReadProfiles();
  return *profiles;
}

const AgentProfile* ProfileNamed(absl::string_view name) {
  return FindProfile(
      [name](const AgentProfile& profile) { return profile.name() == name; });
}

const AgentProfile* ProfileOf(absl::string_view program) {
  const absl::string_view name = program.substr(program.rfind('/') + 1);
  return FindProfile([name](const AgentProfile& profile) {
    return std::find(profile.program().begin(), profile.program().end(),
                     name) != profile.program().end();
  });
}

std::string ProfileNames() {
  return absl::StrJoin(KnownProfiles().agent(), ", ",
                       [](std::string* out, const AgentProfile& profile) {
                         out->append(profile.name());
                       });
}

}  // namespace bridge
