#include "sandbox/supervisor/mode_calls.h"

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/log.h"
#include "sandbox/base/program_code.h"
#include "sandbox/kernel/directory_modes.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/privileges.h"

namespace sandbox {
namespace {

constexpr char kName[] = "corral-modes";
// The limit for a call that is being made when the sandbox has ended: nobody
// needs it any more.
constexpr absl::Duration kLastCall = absl::Seconds(1);

// The part that runs in the process beside the supervisor.
class Server {
 public:
  Server(const UniqueFd& listener, absl::StatusOr<DirectoryModes> modes)
      : listener_(listener), modes_(std::move(modes)) {
    if (!modes_.ok()) {
      LOG(WARNING) << "no setgid directories: " << modes_.status().message();
    }
  }

  // Returns when the supervisor has closed the socket.
  void Run(const UniqueFd& socket) {
    pollfd events[] = {{socket.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (;;) {
      if (::poll(events, 2, -1) < 0) {
        continue;
      }
      if (events[0].revents != 0) {
        return;  // a call that waits fails
      }
      if ((events[1].revents & POLLIN) != 0) {
        Answer();
      } else {
        // The last process that had the filter has ended.
        events[1].fd = -1;
      }
    }
  }

 private:
  void Answer() {
    seccomp_notif call = {};
    // Fails if the caller has been killed meanwhile, as does the answer.
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) {
      seccomp_notif_resp answer = {};
      answer.id = call.id;
      answer.error = -Make(call);
      ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
  }

  int Make(const seccomp_notif& call) {
    if (!modes_.ok()) {
      return EPERM;
    }
    const ModeCall made = {
        static_cast<pid_t>(call.pid),
        call.data.nr,
        {call.data.args[0], call.data.args[1], call.data.args[2]}};
    return modes_->Make(made, [this, &call] {
      return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &call.id) ==
             0;
    });
  }

  const UniqueFd& listener_;
  const absl::StatusOr<DirectoryModes> modes_;
};

// Keeps what it takes to read paths and descriptors of commands
// (DAC_READ_SEARCH, SYS_PTRACE), and to take their rights for files (SETGID,
// SETUID). Those of the user of this process need no more than SYS_PTRACE.
absl::Status GiveUpCapabilities(uint32_t first_id) {
  return first_id == kNoRange ? KeepAtMost({CAP_SYS_PTRACE})
                              : KeepAtMost({CAP_DAC_READ_SEARCH, CAP_SETGID,
                                            CAP_SETUID, CAP_SYS_PTRACE});
}

int Serve(const UniqueFd& socket, const UniqueFd& listener,
          const UniqueFd& init, uint32_t first_id) {
  Server server(listener, DirectoryModes::Enter(init, first_id));
  const absl::Status less = GiveUpCapabilities(first_id);
  if (!less.ok()) {
    LOG(ERROR) << kName << ": " << less.ToString();
    return 1;
  }
  ForgetCode();
  server.Run(socket);
  return 0;
}

}  // namespace

absl::StatusOr<SideProcess> StartModeCalls(UniqueFd listener,
                                           const UniqueFd& init,
                                           uint32_t first_id) {
  return SideProcess::Start(
      kName, {listener.get(), init.get()},
      [&](const UniqueFd& socket) {
        return Serve(socket, listener, init, first_id);
      },
      kLastCall);
}

}  // namespace sandbox
