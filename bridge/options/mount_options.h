// The options for directories that a sandbox sees besides its workspace:
// --mount and --home.

#ifndef BRIDGE_OPTIONS_MOUNT_OPTIONS_H_
#define BRIDGE_OPTIONS_MOUNT_OPTIONS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/options/option_table.h"
#include "corral/v1/mount.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// The home directory of commands.
inline constexpr char kSandboxHome[] = "/home/corral";

// Parses "SRC", "SRC:DST", "SRC:ro" or "SRC:DST:rw". Makes SRC absolute and
// without links, if it exists on this host. Fails with InvalidArgument for
// anything else; the server checks the places.
absl::StatusOr<corral::v1::Mount> ParseMount(absl::string_view text);

// Adds --mount and --home. The table refers to `sandbox`, which gets the
// mounts.
void AddMountOptions(OptionTable& table, corral::v1::Sandbox& sandbox);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_MOUNT_OPTIONS_H_
