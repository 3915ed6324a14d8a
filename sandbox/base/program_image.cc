#include "sandbox/base/program_image.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/high_fd.h"

namespace sandbox {
namespace {

// The number of the image in the child, behind the socket. The image is open
// while the child executes it, and the child closes it.
constexpr int kImage = kProgramSocket + 1;

}  // namespace

absl::StatusOr<UniqueFd> MakeProgramImage(const char* name,
                                          absl::string_view image) {
  UniqueFd memfd(::memfd_create(name, MFD_CLOEXEC));
  if (!memfd.valid() || ::write(memfd.get(), image.data(), image.size()) !=
                            static_cast<ssize_t>(image.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("memfd of ", name));
  }
  // Executing a file that is open for writing is refused (ETXTBSY).
  UniqueFd read_only(::open(absl::StrCat("/proc/self/fd/", memfd.get()).c_str(),
                            O_RDONLY | O_CLOEXEC));
  if (!read_only.valid()) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("reopen the memfd of ", name));
  }
  return read_only;
}

absl::StatusOr<pid_t> StartProgram(const char* name, const UniqueFd& image,
                                   int socket, ErrorOutput error,
                                   const char* argument) {
  const UniqueFd program = DuplicateHigh(image.get());
  const UniqueFd theirs = DuplicateHigh(socket);
  if (!program.valid() || !theirs.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("descriptors of ", name));
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 1);
  if (error == ErrorOutput::kDiscarded) {
    ::posix_spawn_file_actions_adddup2(&actions, 0, 2);
  }
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kProgramSocket);
  ::posix_spawn_file_actions_adddup2(&actions, program.get(), kImage);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kImage + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  char* const arguments[] = {const_cast<char*>(name),
                             const_cast<char*>(argument), nullptr};
  char* const environment[] = {nullptr};
  pid_t pid;
  const int failure =
      ::posix_spawn(&pid, absl::StrCat("/proc/self/fd/", kImage).c_str(),
                    &actions, &attributes, arguments, environment);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    return absl::ErrnoToStatus(failure, absl::StrCat("start ", name));
  }
  return pid;
}

}  // namespace sandbox
