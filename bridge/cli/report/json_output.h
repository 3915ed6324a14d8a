// Messages of the API as JSON for scripts.
//
// Field names are those of the .proto files. Fields of type bytes (paths,
// arguments, environment) are text: valid UTF-8 as it is, a backslash as \\,
// and each other byte as \xHH. JSON then writes every backslash twice.

#ifndef BRIDGE_CLI_REPORT_JSON_OUTPUT_H_
#define BRIDGE_CLI_REPORT_JSON_OUTPUT_H_

#include <string>

#include "google/protobuf/message.h"

namespace bridge {

// One line without a newline. Fields that are not set have their default value,
// so that a script finds them, except messages and fields marked `optional`.
std::string ToJson(const google::protobuf::Message& message);

// The value of one repeated field, which the message must have.
std::string ToJsonArray(const google::protobuf::Message& message,
                        const std::string& field);

// One sentence about EscapeBytes() for the text of --help.
inline constexpr char kJsonHelp[] =
    "Paths, arguments and variables are text; in them a backslash is\n"
    "\\\\, and a byte that is not UTF-8 is \\xHH.";

}  // namespace bridge

#endif  // BRIDGE_CLI_REPORT_JSON_OUTPUT_H_
