#include "bridge/options/mount_options.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bridge/options/working_directory.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr char kAllowed[] =
    "allowed is SRC[:DST][:ro|rw], with an absolute path as DST";

absl::StatusOr<corral::v1::Mount> MountOf(absl::string_view source) {
  if (source.empty()) {
    return absl::InvalidArgumentError(kAllowed);
  }
  const absl::StatusOr<std::string> path = AbsolutePath(source);
  if (!path.ok()) {
    return absl::InvalidArgumentError(path.status().message());
  }
  corral::v1::Mount mount;
  mount.set_source(*path);
  return mount;
}

}  // namespace

absl::StatusOr<corral::v1::Mount> ParseMount(absl::string_view text) {
  std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  ASSIGN_OR_RETURN(corral::v1::Mount mount, MountOf(parts.front()));
  parts.erase(parts.begin());
  if (!parts.empty() && (parts.back() == "ro" || parts.back() == "rw")) {
    mount.set_writable(parts.back() == "rw");
    parts.pop_back();
  }
  if (parts.size() > 1) {
    return absl::InvalidArgumentError(kAllowed);
  }
  if (!parts.empty()) {
    if (!absl::StartsWith(parts.front(), "/")) {
      return absl::InvalidArgumentError(kAllowed);
    }
    mount.set_target(parts.front().data(), parts.front().size());
  }
  return mount;
}

void AddMountOptions(OptionTable& table, corral::v1::Sandbox& sandbox) {
  table.Value(0, "mount", "SRC[:DST][:ro|rw]",
              "A directory of this machine that commands see besides the\n"
              "workspace, at DST or at its own path. Read-only, unless rw is\n"
              "given. May be repeated.",
              [&sandbox](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(*sandbox.add_mounts(), ParseMount(value));
                return absl::OkStatus();
              });
  table.Value(0, "home", "DIR",
              "A directory of this machine that is the home of commands, and\n"
              "keeps what they write there: --mount DIR:/home/corral:rw.",
              [&sandbox](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(corral::v1::Mount home, MountOf(value));
                home.set_target(kSandboxHome);
                home.set_writable(true);
                *sandbox.add_mounts() = home;
                return absl::OkStatus();
              });
}

}  // namespace bridge
