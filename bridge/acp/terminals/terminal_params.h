// The parameters of the terminal/* requests.
// https://agentclientprotocol.com/protocol/v1/terminals

#ifndef BRIDGE_ACP_TERMINALS_TERMINAL_PARAMS_H_
#define BRIDGE_ACP_TERMINALS_TERMINAL_PARAMS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

struct CreateTerminalParams {
  std::string session_id;
  std::string command;
  std::vector<std::string> arguments;
  // Names and values, in the order given.
  std::vector<std::pair<std::string, std::string>> environment;
  // Not normalized. Empty if missing or null.
  std::string cwd;
  size_t output_byte_limit = 0;
};

// The limit if the agent gives none, and the highest limit: peers refuse
// messages above 32 MiB, and JSON may need six bytes for one.
constexpr size_t kDefaultOutputByteLimit = 1 << 20;
constexpr size_t kMaxOutputByteLimit = 4 << 20;

// `params` is the text of a JSON value. The error, InvalidArgument, names the
// field, its value and what is allowed.
//
// Accepts more than the schema, because agents send it: `env` as an object of
// names and values; values that are numbers or booleans; entries without a name
// or a value, which are skipped; an `outputByteLimit` that is no count, for
// which the default is taken.
absl::StatusOr<CreateTerminalParams> ParseCreateTerminal(
    absl::string_view params);

// The parameters of all other terminal/* requests.
struct TerminalReference {
  std::string session_id;
  std::string terminal_id;
};
absl::StatusOr<TerminalReference> ParseTerminalReference(
    absl::string_view params);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_TERMINAL_PARAMS_H_
