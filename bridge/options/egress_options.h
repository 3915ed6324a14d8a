// The option for the way out of a sandbox: --allow-host.

#ifndef BRIDGE_OPTIONS_EGRESS_OPTIONS_H_
#define BRIDGE_OPTIONS_EGRESS_OPTIONS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/options/option_table.h"
#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace bridge {

using EgressRules = google::protobuf::RepeatedPtrField<corral::v1::EgressRule>;

// Parses "NAME", "NAME:PORT:PORT" or "NAME:PORT/tcp". Fails with
// InvalidArgument for anything else; the server checks names.
absl::StatusOr<corral::v1::EgressRule> ParseEgressRule(absl::string_view text);

// The table refers to `rules`.
void AddEgressOptions(OptionTable& table, EgressRules& rules);

// Gives the sandbox ALLOW_LIST with these rules, or NONE if there are none.
void SetEgress(const EgressRules& rules, corral::v1::Sandbox& sandbox);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_EGRESS_OPTIONS_H_
