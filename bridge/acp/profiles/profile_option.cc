#include "bridge/acp/profiles/profile_option.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/profiles/agent_profiles.h"

namespace bridge {
namespace {

constexpr char kNone[] = "none";

}  // namespace

void ProfileOption::AddTo(OptionTable& table) {
  table.Value(
      0, "agent-profile", "NAME",
      absl::StrCat(
          "With --agent-in-sandbox: what a known agent needs, the hosts of\n"
          "its model among them. Default: the profile of the program's name;\n"
          "none: without a profile. Other options win. Profiles:\n",
          ProfileNames(), "."),
      [this](absl::string_view value) {
        if (value != kNone && ProfileNamed(value) == nullptr) {
          return absl::InvalidArgumentError(absl::StrCat(
              "allowed is ", kNone, " or one of ", ProfileNames()));
        }
        name_ = static_cast<std::string>(value);
        return absl::OkStatus();
      });
}

const corral::config::v1::AgentProfile* ProfileOption::Choose(
    absl::string_view program) const {
  // No profile has the name "none".
  return is_given() ? ProfileNamed(name_) : ProfileOf(program);
}

}  // namespace bridge
