#include "bridge/client/resource_name.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace client {
namespace {

// [a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?
bool IsId(absl::string_view id) {
  const auto allowed = [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  };
  return !id.empty() && id.size() <= 63 && id.front() != '-' &&
         id.back() != '-' && std::all_of(id.begin(), id.end(), allowed);
}

struct Ids {
  absl::string_view tenant;
  absl::string_view sandbox;
  std::optional<absl::string_view> execution;  // empty: the name of a sandbox
};

// Splits without checking the ids. All are empty if the name is neither short
// nor full.
Ids Split(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  const size_t n = parts.size();
  if (n == 1) {
    return {"default", parts[0], std::nullopt};
  }
  if (n == 2) {
    return {"default", parts[0], parts[1]};
  }
  const bool full = (n == 4 || (n == 6 && parts[4] == "executions")) &&
                    parts[0] == "tenants" && parts[2] == "sandboxes";
  if (!full) {
    return {};
  }
  return {parts[1], parts[3],
          n == 6 ? std::make_optional(parts[5]) : std::nullopt};
}

std::string SandboxName(const Ids& ids) {
  return absl::StrCat("tenants/", ids.tenant, "/sandboxes/", ids.sandbox);
}

}  // namespace

absl::StatusOr<std::string> SandboxName(absl::string_view name) {
  const Ids ids = Split(name);
  if (!IsId(ids.tenant) || !IsId(ids.sandbox) || ids.execution.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sandbox \"", name, "\": allowed is SANDBOX or tenants/",
                     "TENANT/sandboxes/SANDBOX, of a-z, 0-9 and -"));
  }
  return SandboxName(ids);
}

absl::StatusOr<std::string> ExecutionName(absl::string_view name) {
  const Ids ids = Split(name);
  if (!IsId(ids.tenant) || !IsId(ids.sandbox) ||
      !IsId(ids.execution.value_or(""))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "execution \"", name,
        "\": allowed is SANDBOX/EXECUTION or tenants/TENANT/",
        "sandboxes/SANDBOX/executions/EXECUTION, ", "of a-z, 0-9 and -"));
  }
  return absl::StrCat(SandboxName(ids), "/executions/", *ids.execution);
}

std::string SandboxOf(absl::string_view execution_name) {
  return SandboxName(Split(execution_name));
}

std::string ShortName(absl::string_view name) {
  const Ids ids = Split(name);
  if (ids.sandbox.empty()) {
    return static_cast<std::string>(name);
  }
  return ids.execution.has_value()
             ? absl::StrCat(ids.sandbox, "/", *ids.execution)
             : static_cast<std::string>(ids.sandbox);
}

}  // namespace client
