#include "bridge/mcp/tools/arguments.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

absl::Status Wrong(const char* name, absl::string_view expected,
                   absl::string_view received) {
  return absl::InvalidArgumentError(absl::StrCat("Invalid argument \"", name,
                                                 "\": expected ", expected,
                                                 ", received ", received));
}

const char* TypeOf(const OrderedJson* value) {
  return value == nullptr ? "nothing" : value->type_name();
}

}  // namespace

const OrderedJson* Arguments::Find(const char* name) const {
  if (!values_.is_object()) {
    return nullptr;
  }
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &*found;
}

absl::StatusOr<std::string> Arguments::RequiredString(const char* name) const {
  const OrderedJson* value = Find(name);
  if (value == nullptr || !value->is_string()) {
    return Wrong(name, "string", TypeOf(value));
  }
  return value->get<std::string>();
}

absl::StatusOr<std::string> Arguments::String(
    const char* name, const std::string& otherwise) const {
  return Find(name) == nullptr ? otherwise : RequiredString(name);
}

absl::StatusOr<bool> Arguments::Bool(const char* name, bool otherwise) const {
  const OrderedJson* value = Find(name);
  if (value == nullptr) {
    return otherwise;
  }
  if (!value->is_boolean()) {
    return Wrong(name, "boolean", TypeOf(value));
  }
  return value->get<bool>();
}

absl::StatusOr<double> Arguments::Number(const char* name,
                                         double otherwise) const {
  const OrderedJson* value = Find(name);
  if (value == nullptr) {
    return otherwise;
  }
  if (!value->is_number()) {
    return Wrong(name, "number", TypeOf(value));
  }
  return value->get<double>();
}

absl::StatusOr<int64_t> Arguments::Integer(const char* name, int64_t otherwise,
                                           int64_t min, int64_t max) const {
  ASSIGN_OR_RETURN(const double number,
                   Number(name, static_cast<double>(otherwise)));
  if (number != std::floor(number) || number < static_cast<double>(min) ||
      number > static_cast<double>(max)) {
    return Wrong(name, absl::StrCat("integer from ", min, " to ", max),
                 absl::StrCat(number));
  }
  return static_cast<int64_t>(number);
}

absl::StatusOr<std::string> Arguments::Choice(
    const char* name, const std::vector<std::string>& allowed) const {
  ASSIGN_OR_RETURN(const std::string value, String(name, allowed.front()));
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    return Wrong(name, absl::StrCat("'", absl::StrJoin(allowed, "' or '"), "'"),
                 absl::StrCat("'", value, "'"));
  }
  return value;
}

absl::StatusOr<std::optional<std::vector<std::string>>> Arguments::Choices(
    const char* name, const std::vector<std::string>& allowed) const {
  const OrderedJson* values = Find(name);
  if (values == nullptr) {
    return std::nullopt;
  }
  const std::string expected =
      absl::StrCat("array of '", absl::StrJoin(allowed, "', '"), "'");
  if (!values->is_array()) {
    return Wrong(name, expected, TypeOf(values));
  }
  std::vector<std::string> chosen;
  for (const OrderedJson& value : *values) {
    if (!value.is_string() ||
        std::find(allowed.begin(), allowed.end(), value.get<std::string>()) ==
            allowed.end()) {
      return Wrong(name, expected, SerializeOrdered(value));
    }
    chosen.push_back(value.get<std::string>());
  }
  return chosen;
}

}  // namespace bridge
