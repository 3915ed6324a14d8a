#include "bridge/acp/profiles/profile_settings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bridge {
namespace {

using corral::config::v1::AgentProfile;
using corral::config::v1::AgentVariable;
using corral::config::v1::ModelAccess;
using Names = google::protobuf::RepeatedPtrField<std::string>;
using Variables = google::protobuf::RepeatedPtrField<AgentVariable>;

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Collects the settings; a variable that was said first is not said again.
class Settling {
 public:
  explicit Settling(const std::vector<std::string>& named) : said_(named) {}

  void Set(const Variables& variables) {
    for (const AgentVariable& variable : variables) {
      if (Say(variable.name())) {
        settings_.variables.push_back(
            absl::StrCat(variable.name(), "=", variable.value()));
      }
    }
  }
  void Pass(const Names& names) {
    for (const std::string& name : names) {
      if (Say(name)) {
        settings_.variables.push_back(name);
      }
    }
  }
  void Allow(const Names& hosts) {
    settings_.hosts.insert(settings_.hosts.end(), hosts.begin(), hosts.end());
  }
  ProfileSettings Finish() && { return std::move(settings_); }

 private:
  bool Say(const std::string& name) {
    if (Contains(said_, name)) {
      return false;
    }
    said_.push_back(name);
    return true;
  }

  std::vector<std::string> said_;
  ProfileSettings settings_;
};

}  // namespace

ProfileSettings Settle(const AgentProfile& profile, const Variables& common,
                       const std::vector<std::string>& named,
                       const std::vector<std::string>& services) {
  Settling settling(named);
  for (const ModelAccess& model : profile.model()) {
    if (Contains(services, model.service())) {
      settling.Set(model.set());
    } else {
      settling.Allow(model.allow_host());
      settling.Pass(model.pass());
    }
  }
  settling.Allow(profile.allow_host());
  settling.Set(profile.set());
  settling.Pass(profile.pass());
  settling.Set(common);
  return std::move(settling).Finish();
}

}  // namespace bridge
