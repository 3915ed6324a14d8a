// The options --gate and --audit.

#ifndef BRIDGE_GATE_GATE_OPTIONS_H_
#define BRIDGE_GATE_GATE_OPTIONS_H_

#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/options/option_table.h"

namespace bridge {

// The table refers to `rules` and `audit`. Parsing reads the file of the rules
// and opens that of the audit log.
void AddGateOptions(OptionTable& table, GateRules& rules, AuditLog& audit);

}  // namespace bridge

#endif  // BRIDGE_GATE_GATE_OPTIONS_H_
