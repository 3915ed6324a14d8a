// Messages of the API as JSON for scripts.
//
// Field names are those of the .proto files. Fields of type bytes (paths,
// arguments, environment) are text: valid UTF-8 as it is, a backslash as \\,
// and each other byte as \xHH. JSON then writes every backslash twice.

#ifndef BRIDGE_CLI_REPORT_JSON_OUTPUT_H_
#define BRIDGE_CLI_REPORT_JSON_OUTPUT_H_

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace bridge {

// One line without a newline. Fields that are not set have their default value,
// so that a script finds them.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

// The value of the first field of `list`, the answer to a call that lists
// resources: a JSON array. Much faster than ToJson() for each resource, because
// protobuf looks up all types anew for each call.
absl::StatusOr<std::string> ToJsonArray(const google::protobuf::Message& list);

// One sentence about EscapeBytes() for the text of --help.
inline constexpr char kJsonHelp[] =
    "Paths, arguments and variables are text; in them a backslash is\n"
    "\\\\, and a byte that is not UTF-8 is \\xHH.";

}  // namespace bridge

#endif  // BRIDGE_CLI_REPORT_JSON_OUTPUT_H_
