#include "sandbox/base/unix_address.h"

#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"

namespace sandbox {

sockaddr_un UnixAddress(int directory, absl::string_view name) {
  const std::string path = absl::StrCat("/proc/self/fd/", directory, "/", name);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof(address.sun_path)) << path;
  path.copy(address.sun_path, path.size());
  return address;
}

}  // namespace sandbox
