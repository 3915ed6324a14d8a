#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/gate/gated_command.h"
#include "sandbox/base/log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<bridge::GateRules> rules =
      bridge::GateRules::Parse("gate.textproto", text);
  if (rules.ok()) {
    bridge::GatedCommand command;
    command.argv = {"make", "all"};
    command.directory = "/src";
    const bridge::Ruling ruling = rules->Rule(command);
    CHECK(!ruling.by.empty());
  } else {
    CHECK(absl::IsInvalidArgument(rules.status()));
    CHECK(absl::StartsWith(rules.status().message(), "gate.textproto"));
  }
  return 0;
}
