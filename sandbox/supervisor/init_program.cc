#include "sandbox/supervisor/init_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/string_view.h"
#include "sandbox/init/exchange.h"
#include "sandbox/init/init_image.h"

namespace sandbox {
namespace {

// MFD_EXEC, known since Linux 6.3: without it, a host may be set to refuse
// executing a memfd (vm.memfd_noexec).
constexpr unsigned kMfdExec = 0x10;

}  // namespace

absl::StatusOr<UniqueFd> MakeImage() {
  const absl::string_view image = InitImage();
  UniqueFd memfd(::memfd_create("corral-init",
                                MFD_CLOEXEC | MFD_ALLOW_SEALING | kMfdExec));
  if (!memfd.valid() && errno == EINVAL) {
    memfd.Reset(::memfd_create("corral-init", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!memfd.valid() ||
      ::write(memfd.get(), image.data(), image.size()) !=
          static_cast<ssize_t>(image.size()) ||
      ::fcntl(memfd.get(), F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return absl::ErrnoToStatus(errno, "memfd of corral-init");
  }
  return memfd;
}

absl::StatusOr<UniqueFd> MakeExchange() {
  UniqueFd memfd(
      ::memfd_create("corral-exchange", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd.valid() || ::ftruncate(memfd.get(), kExchangeSize) != 0 ||
      ::fcntl(memfd.get(), F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return absl::ErrnoToStatus(errno, "memfd of the exchange");
  }
  return memfd;
}

absl::Status ArrangeFds(std::initializer_list<int> fds) {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int next = 0;
  bool done = null.valid();
  for (; done && next < 3; ++next) {
    done = ::dup2(null.get(), next) == next;
  }
  for (auto fd = fds.begin(); done && fd != fds.end(); ++fd, ++next) {
    done = ::dup2(*fd, next) == next;
  }
  return done ? absl::OkStatus()
              : absl::ErrnoToStatus(errno, "arrange descriptors");
}

absl::Status ExecuteImage(int image, const char* name) {
  char* const arguments[] = {const_cast<char*>(name), nullptr};
  char* const environment[] = {nullptr};
  ::syscall(SYS_execveat, image, "", arguments, environment, AT_EMPTY_PATH);
  return absl::ErrnoToStatus(errno, "execute corral-init");
}

}  // namespace sandbox
