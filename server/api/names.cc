#include "server/api/names.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/status_macros.h"
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

// Returns the ids of `name`, which alternates between `collections` and ids;
// nothing if it does not.
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

absl::StatusOr<SandboxName> SandboxName::Parse(absl::string_view field,
                                               absl::string_view text) {
  ASSIGN_OR_RETURN(SandboxName name, ParseListParent(field, text));
  if (name.is_any()) {
    return InvalidField(field, text, kSandboxRule);
  }
  return name;
}

absl::StatusOr<SandboxName> SandboxName::ParseListParent(
    absl::string_view field, absl::string_view text) {
  const std::vector<absl::string_view> ids =
      SplitName(text, {"tenants", "sandboxes"});
  if (ids.empty()) {
    return InvalidField(field, text, kSandboxRule);
  }
  if (!IsDefaultTenant(ids[0])) {
    return SandboxNotFound(text);
  }
  return SandboxName(std::string(ids[1]));
}

std::string SandboxName::ToString() const {
  return absl::StrCat(kTenantName, "/sandboxes/", id_);
}

absl::StatusOr<ExecutionName> ExecutionName::Parse(absl::string_view field,
                                                   absl::string_view text) {
  const std::vector<absl::string_view> ids =
      SplitName(text, {"tenants", "sandboxes", "executions"});
  if (ids.empty() || ids[1] == kAnySandbox) {
    return InvalidField(field, text, kExecutionRule);
  }
  if (!IsDefaultTenant(ids[0])) {
    return ExecutionNotFound(text);
  }
  return ExecutionName(SandboxName(std::string(ids[1])), std::string(ids[2]));
}

std::string ExecutionName::ToString() const {
  return absl::StrCat(sandbox_.ToString(), "/executions/", id_);
}

}  // namespace server
