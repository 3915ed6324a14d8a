// Options for what commands may do beyond their workspace: --network,
// --allow-host, --service and --profile, also as texts of a file.

#ifndef BRIDGE_OPTIONS_CONFINEMENT_OPTIONS_H_
#define BRIDGE_OPTIONS_CONFINEMENT_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bridge/options/egress_options.h"
#include "bridge/options/option_table.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// Parses "default", "strict", "debug" or "nested". Fails with InvalidArgument;
// the error names what is allowed.
absl::Status SetProfile(absl::string_view text, corral::v1::Sandbox& sandbox);

class ConfinementOptions {
 public:
  // The table refers to this object.
  void AddTo(OptionTable& table);

  // Set the values of --network and --allow-host. Fail with InvalidArgument if
  // `text` is not a value of the option.
  absl::Status SetNetwork(absl::string_view text);
  absl::Status AddHost(absl::string_view text);

  // Returns true if --network none was given.
  bool IsClosed() const;

  // Sets network, rules, services and profile. Fails with InvalidArgument if
  // the options exclude each other.
  absl::Status ApplyTo(corral::v1::Sandbox& sandbox) const;

 private:
  corral::v1::Sandbox profile_;
  EgressRules egress_rules_;
  std::vector<std::string> services_;
  // Empty if the option was not given.
  std::string network_;
};

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_CONFINEMENT_OPTIONS_H_
