// Options for paths of a workspace that commands cannot change:
// --read-only-path and --protect-host-tools.

#ifndef BRIDGE_OPTIONS_PROTECTION_OPTIONS_H_
#define BRIDGE_OPTIONS_PROTECTION_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bridge/options/option_table.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// The default of --protect-host-tools.
enum class HostTools { kProtected, kUnprotected };

class ProtectionOptions {
 public:
  explicit ProtectionOptions(HostTools host_tools) : host_tools_(host_tools) {}

  // The table refers to this object.
  void AddTo(OptionTable& table);

  // True if there is a --read-only-path.
  bool has_paths() const { return !paths_.empty(); }

  // Fails with InvalidArgument if programs of this profile could move the
  // paths of a workspace that they may write to.
  absl::Status CheckProfile(corral::v1::Sandbox::Profile profile) const;

  void ApplyTo(corral::v1::Workspace& workspace) const;

 private:
  HostTools host_tools_;
  std::vector<std::string> paths_;
};

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_PROTECTION_OPTIONS_H_
