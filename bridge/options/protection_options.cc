#include "bridge/options/protection_options.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace bridge {

void ProtectionOptions::AddTo(OptionTable& table) {
  table.Value(
      0, "read-only-path", "PATH",
      "A path below the workspace that commands can neither change nor\n"
      "make. Where nothing is, an empty directory is made until the\n"
      "sandbox ends. May be repeated.",
      [this](absl::string_view value) -> absl::Status {
        if (value.empty() || absl::StartsWith(value, "/")) {
          return absl::InvalidArgumentError(
              "allowed is a path relative to the workspace");
        }
        while (absl::EndsWith(value, "/")) {
          value.remove_suffix(1);
        }
        paths_.emplace_back(value);
        return absl::OkStatus();
      });
  table.Value(
      0, "protect-host-tools", "yes|no",
      absl::StrCat(
          "yes: commands cannot change what programs of this machine run or\n"
          "obey when you open or enter the workspace: hooks and configuration\n"
          "of git, .envrc, .idea, .vscode, .zed. They can commit, but not run\n"
          "git config or git init. Default: ",
          host_tools_ == HostTools::kProtected ? "yes." : "no."),
      [this](absl::string_view value) -> absl::Status {
        if (value != "yes" && value != "no") {
          return absl::InvalidArgumentError("allowed is yes or no");
        }
        host_tools_ =
            value == "yes" ? HostTools::kProtected : HostTools::kUnprotected;
        return absl::OkStatus();
      });
}

absl::Status ProtectionOptions::CheckProfile(
    corral::v1::Sandbox::Profile profile) const {
  const bool protects = has_paths() || host_tools_ == HostTools::kProtected;
  return profile == corral::v1::Sandbox::NESTED && protects
             ? UsageError(
                   "--profile nested excludes --read-only-path, and needs "
                   "--protect-host-tools no or --read-only: its programs could "
                   "move the paths")
             : absl::OkStatus();
}

void ProtectionOptions::ApplyTo(corral::v1::Workspace& workspace) const {
  *workspace.mutable_read_only_paths() = {paths_.begin(), paths_.end()};
  workspace.set_protect_host_tools(host_tools_ == HostTools::kProtected);
}

}  // namespace bridge
