#include "sandbox/kernel/cpuset.h"

#include <unistd.h>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {

absl::Status InheritCpus(const std::string& directory) {
  for (const char* file : {"cpuset.cpus", "cpuset.mems"}) {
    const std::string path = absl::StrCat(directory, "/", file);
    if (::access(path.c_str(), F_OK) != 0) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::string own, ReadSmallFile(path));
    if (absl::StripAsciiWhitespace(own).empty()) {
      ASSIGN_OR_RETURN(const std::string parents,
                       ReadSmallFile(absl::StrCat(directory, "/../", file)));
      RETURN_IF_ERROR(
          WriteSmallFile(path, absl::StripAsciiWhitespace(parents)));
    }
  }
  return WriteSmallFile(directory + "/cgroup.clone_children", "1");
}

}  // namespace sandbox
