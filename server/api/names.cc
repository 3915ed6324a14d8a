#include "server/api/names.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/api/errors.h"

namespace server {
namespace {

constexpr size_t kMaxIdLength = 63;
constexpr char kIdRule[] =
    "1 to 63 characters of a-z, 0-9 and '-', with no '-' at either end";
constexpr char kSandboxRule[] = "tenants/{tenant}/sandboxes/{sandbox}";
constexpr char kExecutionRule[] =
    "tenants/{tenant}/sandboxes/{sandbox}/executions/{execution}";

bool IsIdCharacter(char c) {
  return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
}

// The ids of `name`, if it alternates between `collections` and ids.
std::vector<absl::string_view> SplitName(
    absl::string_view name, const std::vector<absl::string_view>& collections) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  std::vector<absl::string_view> ids;
  if (parts.size() != 2 * collections.size()) {
    return ids;
  }
  for (size_t i = 0; i < collections.size(); ++i) {
    const absl::string_view id = parts[2 * i + 1];
    if (parts[2 * i] != collections[i] ||
        !(IsValidId(id) || (i == 1 && id == kAnySandbox))) {
      return {};
    }
    ids.push_back(id);
  }
  return ids;
}

bool IsDefaultTenant(absl::string_view tenant) {
  return IsTenantName(absl::StrCat("tenants/", tenant));
}

}  // namespace

bool IsTenantName(absl::string_view name) { return name == kTenantName; }

bool IsValidId(absl::string_view id) {
  if (id.empty() || id.size() > kMaxIdLength || id.front() == '-' ||
      id.back() == '-') {
    return false;
  }
  for (const char c : id) {
    if (!IsIdCharacter(c)) {
      return false;
    }
  }
  return true;
}

absl::Status CheckChosenId(absl::string_view field, absl::string_view id) {
  if (!id.empty() && !IsValidId(id)) {
    return InvalidField(field, id, kIdRule);
  }
  return absl::OkStatus();
}

absl::Status CheckTenantName(absl::string_view field, absl::string_view name) {
  if (!IsTenantName(name)) {
    return InvalidField(field, name, kTenantName);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ParseSandboxName(absl::string_view field,
                                             absl::string_view name) {
  const std::vector<absl::string_view> ids =
      SplitName(name, {"tenants", "sandboxes"});
  if (ids.empty()) {
    return InvalidField(field, name, kSandboxRule);
  }
  if (!IsDefaultTenant(ids[0])) {
    return SandboxNotFound(name);
  }
  return std::string(ids[1]);
}

absl::StatusOr<ExecutionName> ParseExecutionName(absl::string_view field,
                                                 absl::string_view name) {
  const std::vector<absl::string_view> ids =
      SplitName(name, {"tenants", "sandboxes", "executions"});
  if (ids.empty() || ids[1] == kAnySandbox) {
    return InvalidField(field, name, kExecutionRule);
  }
  if (!IsDefaultTenant(ids[0])) {
    return ExecutionNotFound(name);
  }
  return ExecutionName{std::string(ids[1]), std::string(ids[2])};
}

std::string FormatSandboxName(absl::string_view sandbox) {
  return absl::StrCat(kTenantName, "/sandboxes/", sandbox);
}

std::string FormatExecutionName(absl::string_view sandbox,
                                absl::string_view execution) {
  return absl::StrCat(FormatSandboxName(sandbox), "/executions/", execution);
}

}  // namespace server
