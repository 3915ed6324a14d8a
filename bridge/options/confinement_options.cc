#include "bridge/options/confinement_options.h"

#include "absl/strings/ascii.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Sandbox;

constexpr char kNone[] = "none";
constexpr char kAllowList[] = "allow-list";

}  // namespace

absl::Status SetProfile(absl::string_view text, Sandbox& sandbox) {
  Sandbox::Profile profile = Sandbox::PROFILE_UNSPECIFIED;
  if (!Sandbox::Profile_Parse(absl::AsciiStrToUpper(text), &profile) ||
      profile == Sandbox::PROFILE_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        "allowed are default, strict, debug and nested");
  }
  sandbox.set_profile(profile);
  return absl::OkStatus();
}

void ConfinementOptions::AddTo(OptionTable& table) {
  table.Value(
      0, "network", "none|allow-list",
      "none: commands have only a loopback interface (the default).\n"
      "allow-list: they reach the hosts of --allow-host and --service,\n"
      "which imply it.",
      [this](absl::string_view value) { return SetNetwork(value); });
  AddEgressOptions(table, egress_rules_);
  table.Value(
      0, "service", "NAME",
      "Programs inside may use this service of the server, at\n"
      "http://NAME.corral.internal; again for more services. The server adds\n"
      "a credential to their requests, which they cannot read. corral info\n"
      "lists the services.",
      [this](absl::string_view value) -> absl::Status {
        services_.emplace_back(value);
        return absl::OkStatus();
      });
  table.Value(
      0, "profile", "NAME",
      "System calls that commands may make: default, strict (untrusted\n"
      "snippets), debug (debuggers) or nested (programs that make\n"
      "sandboxes; the server must allow it).",
      [this](absl::string_view value) { return SetProfile(value, profile_); });
}

absl::Status ConfinementOptions::SetNetwork(absl::string_view text) {
  if (text != kNone && text != kAllowList) {
    return absl::InvalidArgumentError("allowed is none and allow-list");
  }
  network_ = static_cast<std::string>(text);
  return absl::OkStatus();
}

absl::Status ConfinementOptions::AddHost(absl::string_view text) {
  ASSIGN_OR_RETURN(*egress_rules_.Add(), ParseEgressRule(text));
  return absl::OkStatus();
}

bool ConfinementOptions::IsClosed() const { return network_ == kNone; }

absl::Status ConfinementOptions::ApplyTo(Sandbox& sandbox) const {
  if (IsClosed() && !(egress_rules_.empty() && services_.empty())) {
    return UsageError("--network none excludes --allow-host and --service");
  }
  SetEgress(egress_rules_, sandbox);
  *sandbox.mutable_egress_services() = {services_.begin(), services_.end()};
  if (network_ == kAllowList || !services_.empty()) {
    sandbox.set_network(Sandbox::ALLOW_LIST);
  }
  sandbox.set_profile(profile_.profile());
  return absl::OkStatus();
}

}  // namespace bridge
