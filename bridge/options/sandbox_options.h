// The options for a new sandbox: workspace, mounts, limits, lifetime and
// retention.

#ifndef BRIDGE_OPTIONS_SANDBOX_OPTIONS_H_
#define BRIDGE_OPTIONS_SANDBOX_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/options/confinement_options.h"
#include "bridge/options/option_table.h"
#include "bridge/options/protection_options.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

class SandboxOptions {
 public:
  explicit SandboxOptions(HostTools host_tools = HostTools::kUnprotected)
      : protection_(host_tools) {}

  // The table refers to this object.
  void AddTo(OptionTable& table);

  // Call it after Parse().
  absl::StatusOr<corral::v1::Sandbox> Build() const;

 private:
  void AddLifetimeTo(OptionTable& table);

  ConfinementOptions confinement_;
  ProtectionOptions protection_;
  corral::v1::Limits limits_;
  bool kill_all_on_oom_ = false;
  corral::v1::Lifetime lifetime_;
  corral::v1::Retention retention_;
  std::vector<std::string> required_;
  corral::v1::Sandbox mounts_;
  std::string workspace_;  // empty: the current directory
  bool no_workspace_ = false;
  bool read_only_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_SANDBOX_OPTIONS_H_
