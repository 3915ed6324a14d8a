#include "server/api/egress_services.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/base/paths.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/api/names.h"

namespace server {
namespace {

using corral::supervisor::v1::CredentialSource;
using corral::supervisor::v1::Egress;
using corral::v1::Sandbox;

std::string PathOf(absl::string_view field, int index) {
  return absl::StrCat(field, ".egress_services[", index, "]");
}

// The directories of the host that commands see, besides the system's.
std::vector<absl::string_view> DirectoriesOf(const Sandbox& sandbox) {
  std::vector<absl::string_view> paths;
  if (sandbox.has_workspace()) {
    paths.emplace_back(sandbox.workspace().path());
  }
  for (const auto& workspace : sandbox.further_workspaces()) {
    paths.emplace_back(workspace.path());
  }
  for (const auto& mount : sandbox.mounts()) {
    paths.emplace_back(mount.source());
  }
  for (absl::string_view& path : paths) {
    path = sandbox::StripTrailingSlashes(path);
  }
  return paths;
}

// Returns true if `text` names `directory` or a path within it: `directory`
// stands in it before a "/" or at the end.
bool NamesPathWithin(absl::string_view text, absl::string_view directory) {
  for (size_t at = text.find(directory); at != absl::string_view::npos;
       at = text.find(directory, at + 1)) {
    const absl::string_view rest = text.substr(at + directory.size());
    if (rest.empty() || rest[0] == '/') {
      return true;
    }
  }
  return false;
}

absl::Status CheckSource(const std::string& field, const std::string& name,
                         const CredentialSource& source,
                         const std::vector<absl::string_view>& directories) {
  for (const absl::string_view directory : directories) {
    const bool seen =
        sandbox::IsWithin(source.file(), directory) ||
        absl::c_any_of(source.command(), [&](const std::string& word) {
          return NamesPathWithin(word, directory);
        });
    if (seen) {
      return InvalidField(
          field, name,
          absl::StrCat("a service whose file or command is not in a directory "
                       "of the sandbox, as it is in ",
                       directory));
    }
  }
  return absl::OkStatus();
}

const CredentialSource* Find(const Egress& offered, const std::string& name) {
  const auto found = absl::c_find_if(
      offered.credentials(),
      [&](const CredentialSource& each) { return each.service() == name; });
  return found == offered.credentials().end() ? nullptr : &*found;
}

std::string NamesOf(const Egress& offered) {
  if (offered.credentials().empty()) {
    return "none: the server's configuration offers no service";
  }
  return absl::StrJoin(offered.credentials(), ", ",
                       [](std::string* out, const CredentialSource& source) {
                         absl::StrAppend(out, source.service());
                       });
}

}  // namespace

absl::Status CheckEgressServices(absl::string_view field,
                                 const Sandbox& sandbox) {
  const int count = sandbox.egress_services_size();
  const std::string services = absl::StrCat(field, ".egress_services");
  if (sandbox.network() != Sandbox::ALLOW_LIST && count > 0) {
    return InvalidField(services, absl::StrCat(count, " services"),
                        "none, unless network is ALLOW_LIST");
  }
  if (count > kMaxEgressServices) {
    return InvalidField(
        services, absl::StrCat(count, " services"),
        absl::StrCat("at most ", kMaxEgressServices, " services"));
  }
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) {
    const std::string& name = sandbox.egress_services(i);
    if (!IsValidId(name) || !names.insert(name).second) {
      return InvalidField(PathOf(field, i), name,
                          "the name of a service, which is given once");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOfferedServices(absl::string_view field,
                                  const Sandbox& sandbox,
                                  const Egress& offered) {
  const std::vector<absl::string_view> directories = DirectoriesOf(sandbox);
  for (int i = 0; i < sandbox.egress_services_size(); ++i) {
    const std::string& name = sandbox.egress_services(i);
    const CredentialSource* source = Find(offered, name);
    if (source == nullptr) {
      return InvalidField(PathOf(field, i), name, NamesOf(offered));
    }
    RETURN_IF_ERROR(CheckSource(PathOf(field, i), name, *source, directories));
  }
  return absl::OkStatus();
}

void SelectServices(const Sandbox& sandbox, Egress* egress) {
  const auto is_unused = [&](const std::string& name) {
    return !absl::c_linear_search(sandbox.egress_services(), name);
  };
  auto& services = *egress->mutable_policy()->mutable_services();
  services.erase(std::remove_if(services.begin(), services.end(),
                                [&](const corral::egress::v1::Service& each) {
                                  return is_unused(each.name());
                                }),
                 services.end());
  auto& credentials = *egress->mutable_credentials();
  credentials.erase(std::remove_if(credentials.begin(), credentials.end(),
                                   [&](const CredentialSource& each) {
                                     return is_unused(each.service());
                                   }),
                    credentials.end());
}

}  // namespace server
