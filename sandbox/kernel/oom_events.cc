#include "sandbox/kernel/oom_events.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {

absl::StatusOr<UniqueFd> WatchOom(const std::string& directory) {
  UniqueFd events(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!events.valid()) {
    return absl::ErrnoToStatus(errno, "eventfd");
  }
  const std::string path = directory + "/memory.oom_control";
  const UniqueFd control(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!control.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  // It lasts until the eventfd is closed; the kernel needs the other one only
  // now.
  RETURN_IF_ERROR(
      WriteSmallFile(directory + "/cgroup.event_control",
                     absl::StrCat(events.get(), " ", control.get())));
  return events;
}

}  // namespace sandbox
