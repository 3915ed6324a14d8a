#include "server/core/protections.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/api/errors.h"

namespace server {
namespace {

constexpr char kField[] = "sandbox.required_protections";
constexpr int kMaxRequired = 100;

}  // namespace

Protections::Protections(const std::vector<Feature>& features) {
  for (const Feature& feature : features) {
    by_name_.emplace(feature.name(), feature);
  }
}

absl::Status Protections::Check(const corral::v1::Sandbox& wanted) const {
  if (wanted.required_protections_size() > kMaxRequired) {
    return InvalidField(
        kField, absl::StrCat(wanted.required_protections_size(), " names"),
        absl::StrCat("at most ", kMaxRequired));
  }
  std::vector<std::pair<std::string, std::string>> missing;
  for (const std::string& name : wanted.required_protections()) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      return InvalidField(
          kField, name,
          absl::StrJoin(by_name_, ", ", [](std::string* out, const auto& each) {
            absl::StrAppend(out, each.first);
          }));
    }
    if (found->second.state() != Feature::ENFORCED) {
      missing.emplace_back(
          name,
          absl::StrCat(found->second.state() == Feature::DEGRADED ? "degraded: "
                                                                  : "missing: ",
                       found->second.detail()));
    }
  }
  return missing.empty() ? absl::OkStatus() : ProtectionsMissing(missing);
}

}  // namespace server
