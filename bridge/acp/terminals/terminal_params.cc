#include "bridge/acp/terminals/terminal_params.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

constexpr size_t kMaxQuotedValue = 100;

absl::Status Wrong(absl::string_view field, const Json& value,
                   absl::string_view allowed) {
  std::string text = Serialize(value);
  if (text.size() > kMaxQuotedValue) {
    text = absl::StrCat(text.substr(0, kMaxQuotedValue), "...");
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", text, ", must be ", allowed));
}

absl::StatusOr<Json> ParseObject(absl::string_view params) {
  std::optional<Json> object = ParseJson(params);
  if (params.empty()) {
    return absl::InvalidArgumentError("params is missing, must be an object");
  }
  if (!object.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("params is not JSON or nests deeper than ", kMaxJsonDepth,
                     " levels, must be an object"));
  }
  if (!object->is_object()) {
    return Wrong("params", *object, "an object");
  }
  return *std::move(object);
}

// Returns null if the object has no such member.
const Json& Field(const Json& object, const char* name) {
  static const Json* const null = new Json(nullptr);
  const auto field = object.find(name);
  return field == object.end() ? *null : *field;
}

absl::StatusOr<std::string> NonEmptyString(const Json& object,
                                           const char* name) {
  const Json& value = Field(object, name);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    return Wrong(name, value, "a string that is not empty");
  }
  return value.get<std::string>();
}

absl::StatusOr<std::vector<std::string>> Arguments(const Json& value) {
  std::vector<std::string> arguments;
  if (value.is_null()) {
    return arguments;
  }
  if (!value.is_array()) {
    return Wrong("args", value, "a list of strings");
  }
  for (const Json& argument : value) {
    if (!argument.is_string()) {
      return Wrong("args", value, "a list of strings");
    }
    arguments.push_back(argument.get<std::string>());
  }
  return arguments;
}

void AddVariable(const std::string& name, const Json& value,
                 Environment& environment) {
  if (!value.is_null()) {
    environment.emplace_back(
        name, value.is_string() ? value.get<std::string>() : Serialize(value));
  }
}

absl::StatusOr<Environment> ParseEnvironment(const Json& value) {
  Environment environment;
  if (value.is_object()) {
    for (const auto& [name, text] : value.items()) {
      AddVariable(name, text, environment);
    }
  } else if (value.is_array()) {
    for (const Json& variable : value) {
      if (!variable.is_object()) {
        return Wrong("env", value, "a list of {name, value}");
      }
      if (const Json& name = Field(variable, "name"); name.is_string()) {
        AddVariable(name.get<std::string>(), Field(variable, "value"),
                    environment);
      }
    }
  } else if (!value.is_null()) {
    return Wrong("env", value, "a list of {name, value}");
  }
  return environment;
}

// A limit that is no limit, like -1, is what other programs mean by none.
size_t OutputByteLimit(const Json& value) {
  if (value.is_number_unsigned()) {
    return std::min<uint64_t>(value.get<uint64_t>(), kMaxOutputByteLimit);
  }
  // Above 2^64 the parser makes a floating point number.
  if (value.is_number_float() && value.get<double>() >= kMaxOutputByteLimit) {
    return kMaxOutputByteLimit;
  }
  return kDefaultOutputByteLimit;
}

absl::StatusOr<std::string> OptionalString(const Json& object,
                                           const char* name) {
  const Json& value = Field(object, name);
  if (value.is_null()) {
    return "";
  }
  if (!value.is_string()) {
    return Wrong(name, value, "a string");
  }
  return value.get<std::string>();
}

}  // namespace

absl::StatusOr<CreateTerminalParams> ParseCreateTerminal(
    absl::string_view params) {
  ASSIGN_OR_RETURN(const Json object, ParseObject(params));
  CreateTerminalParams parsed;
  ASSIGN_OR_RETURN(parsed.session_id, NonEmptyString(object, "sessionId"));
  ASSIGN_OR_RETURN(parsed.command, NonEmptyString(object, "command"));
  ASSIGN_OR_RETURN(parsed.arguments, Arguments(Field(object, "args")));
  ASSIGN_OR_RETURN(parsed.environment, ParseEnvironment(Field(object, "env")));
  ASSIGN_OR_RETURN(parsed.cwd, OptionalString(object, "cwd"));
  parsed.output_byte_limit = OutputByteLimit(Field(object, "outputByteLimit"));
  return parsed;
}

absl::StatusOr<TerminalReference> ParseTerminalReference(
    absl::string_view params) {
  ASSIGN_OR_RETURN(const Json object, ParseObject(params));
  TerminalReference parsed;
  ASSIGN_OR_RETURN(parsed.session_id, NonEmptyString(object, "sessionId"));
  ASSIGN_OR_RETURN(parsed.terminal_id, NonEmptyString(object, "terminalId"));
  return parsed;
}

}  // namespace bridge
