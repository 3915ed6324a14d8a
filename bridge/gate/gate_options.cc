#include "bridge/gate/gate_options.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

void AddGateOptions(OptionTable& table, GateRules& rules, AuditLog& audit) {
  table.Value(0, "gate", "FILE",
              "Rules that say which commands may run, must be asked for, or\n"
              "are refused; gate.proto describes them.",
              [&rules](absl::string_view value) {
                ASSIGN_OR_RETURN(
                    rules, GateRules::Load(static_cast<std::string>(value)));
                return absl::OkStatus();
              });
  table.Value(0, "audit", "FILE",
              "Append a line of JSON for each decision and each command.",
              [&audit](absl::string_view value) {
                ASSIGN_OR_RETURN(
                    audit, AuditLog::Open(static_cast<std::string>(value)));
                return absl::OkStatus();
              });
}

}  // namespace bridge
