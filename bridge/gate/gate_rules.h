#ifndef BRIDGE_GATE_GATE_RULES_H_
#define BRIDGE_GATE_GATE_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/gate/gated_command.h"
#include "corral/config/v1/gate.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// The decision of the rules about one command.
struct Ruling {
  corral::config::v1::GateDecision decision = corral::config::v1::ALLOW;
  std::string by;      // "rule 3", counted from 1, or "otherwise"
  std::string reason;  // may be empty
  // The limits of a command that runs; infinite if the rule sets none.
  absl::Duration timeout = absl::InfiniteDuration();
  absl::Duration cpu_timeout = absl::InfiniteDuration();
  // Set if such a command runs in a sandbox of the rule's own: the fields that
  // differ from the session's sandbox. Limits of both count.
  std::optional<corral::v1::Sandbox> sandbox = std::nullopt;
};

// The rules of a gate, see gate.proto. Without rules, every command is allowed.
class GateRules {
 public:
  GateRules() = default;

  // Fails with InvalidArgument if the file cannot be read or is no GateConfig,
  // or if a rule has a wrong value; the error names the file and the line or
  // rule.
  static absl::StatusOr<GateRules> Load(const std::string& file);
  // `file` is for messages.
  static absl::StatusOr<GateRules> Parse(const std::string& file,
                                         const std::string& text);

  // The file that was loaded, as it was named; empty: none.
  const std::string& file() const { return file_; }

  // The first rule that matches decides.
  Ruling Rule(const GatedCommand& command) const;

  // The first rule that limits a command, by a timeout or a sandbox of its own;
  // counted from 1. 0: there is none.
  int FirstWithLimits() const;

 private:
  std::string file_;
  corral::config::v1::GateConfig config_;
  // One for each rule; see Ruling.
  std::vector<std::optional<corral::v1::Sandbox>> sandboxes_;
};

}  // namespace bridge

#endif  // BRIDGE_GATE_GATE_RULES_H_
