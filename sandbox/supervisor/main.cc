// corral-supervisor: owns one sandbox. Started by corrald, outlives it.
//
//   corral-supervisor PROFILE [mapped]
//
// PROFILE is that of the sandbox to prepare. Descriptor 3 is the control
// socket; see proto/corral/supervisor/v1/supervisor.proto.

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/privileges.h"
#include "sandbox/kernel/user_namespace.h"
#include "sandbox/supervisor/strange_children.h"
#include "sandbox/supervisor/supervisor.h"

namespace {

constexpr int kControl = 3;
// This program itself, which is executed by descriptor.
constexpr int kImage = 4;

// Separates the sandbox from the terminal and the process group of corrald.
void Detach() {
  ::setsid();
  // Without a name, ps would show the number of the descriptor from which this
  // program was executed. The kernel keeps 15 characters.
  ::prctl(PR_SET_NAME, "corral-supervis");
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  sandbox::BlockChildSignal();
  ::prctl(PR_SET_DUMPABLE, 0);
  ::umask(077);
  // Each running command takes up to seven descriptors.
  rlimit files;
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

// Keeps the capabilities of root that making a sandbox takes. Confine() leaves
// fewer once it is complete.
absl::Status GiveUpCapabilities() {
  return sandbox::KeepAtMost({
      // Files and control groups of others, and pipes and terminals for them.
      CAP_CHOWN,
      CAP_DAC_OVERRIDE,
      CAP_DAC_READ_SEARCH,
      CAP_FOWNER,
      // Processes of others: signals, ids, the order of the OOM killer.
      CAP_KILL,
      CAP_SETFCAP,
      CAP_SETGID,
      CAP_SETPCAP,
      CAP_SETUID,
      CAP_SYS_PTRACE,
      CAP_SYS_RESOURCE,
      // Namespaces, mounts, and the sockets and the device of the way out.
      CAP_NET_ADMIN,
      CAP_NET_BIND_SERVICE,
      CAP_SYS_ADMIN,
      CAP_SYS_CHROOT,
      // The kernel's messages about processes that it killed.
      CAP_SYSLOG,
  });
}

// Tells the program that it was executed in a user namespace of its own.
constexpr char kMapped[] = "mapped";

// Gives this process the rights that making sandboxes takes, if it lacks them:
// it enters a user namespace of its own and executes this program again.
// Returns OK if it has them, or why it cannot get them.
absl::Status GetRights(int argc, char** argv) {
  const bool mapped = argc > 2 && std::strcmp(argv[2], kMapped) == 0;
  if (sandbox::MayMount()) {
    if (sandbox::CommandsAreThisUser()) {
      sandbox::DropGroups();
    }
    return absl::OkStatus();
  }
  if (mapped) {
    return sandbox::MakeFailure(
        sandbox::wire::Reply::ISOLATION,
        "the host gives no capabilities in a user namespace");
  }
  const absl::Status entered = sandbox::EnterOwnUserNamespace();
  if (!entered.ok()) {
    return entered;
  }
  char* const arguments[] = {argv[0], argv[1], const_cast<char*>(kMapped),
                             nullptr};
  char* const environment[] = {nullptr};
  ::syscall(SYS_execveat, kImage, "", arguments, environment, AT_EMPTY_PATH);
  return absl::ErrnoToStatus(errno, "execute corral-supervisor again");
}

}  // namespace

int main(int argc, char** argv) {
  sandbox::wire::SandboxSpec::Profile profile;
  if (argc < 2 ||
      !sandbox::wire::SandboxSpec::Profile_Parse(argv[1], &profile)) {
    LOG(ERROR) << "corral-supervisor is started by corrald, not by hand";
    return 2;
  }
  absl::Status rights = GetRights(argc, argv);
  Detach();
  ::close(kImage);
  if (::fcntl(kControl, F_SETFD, FD_CLOEXEC) != 0 || ::chdir("/") != 0) {
    LOG(ERROR) << "corral-supervisor is started by corrald, not by hand";
    return 2;
  }
  const absl::Status less = GiveUpCapabilities();
  if (!less.ok()) {
    LOG(ERROR) << less.ToString();
    return 1;
  }
  absl::StatusOr<std::unique_ptr<sandbox::EventLoop>> loop =
      sandbox::EventLoop::Create();
  if (!loop.ok()) {
    LOG(ERROR) << loop.status().ToString();
    return 1;
  }
  sandbox::Supervisor supervisor(
      *std::move(loop), sandbox::PacketSocket(sandbox::UniqueFd(kControl)),
      profile, std::move(rights));
  supervisor.Run();
  return 0;
}
