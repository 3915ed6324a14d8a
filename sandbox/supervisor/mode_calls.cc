#include "sandbox/supervisor/mode_calls.h"

#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <utility>

#include "sandbox/base/log.h"

namespace sandbox {

ModeCalls::ModeCalls(EventLoop* loop, UniqueFd listener, const UniqueFd* init,
                     uint32_t first_id)
    : loop_(loop),
      listener_(std::move(listener)),
      init_(init),
      first_id_(first_id) {
  loop_->Watch(listener_.get(), EPOLLIN,
               [this](uint32_t events) { OnEvent(events); });
}

ModeCalls::~ModeCalls() {
  if (watching_) {
    loop_->Unwatch(listener_.get());
  }
}

void ModeCalls::OnEvent(uint32_t events) {
  if ((events & EPOLLIN) == 0) {
    // The last process that had the filter has ended.
    loop_->Unwatch(listener_.get());
    watching_ = false;
    return;
  }
  seccomp_notif call = {};
  // Fails if the caller has been killed meanwhile.
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) {
    thread_.Run([this, call] { Answer(call); });
  }
}

void ModeCalls::Answer(const seccomp_notif& call) {
  seccomp_notif_resp answer = {};
  answer.id = call.id;
  answer.error = -Make(call);
  // Fails if the caller has been killed meanwhile.
  ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

int ModeCalls::Make(const seccomp_notif& call) {
  if (!modes_.has_value()) {
    modes_ = DirectoryModes::Enter(*init_, first_id_);
    if (!modes_->ok()) {
      LOG(WARNING) << "no setgid directories: " << modes_->status().message();
    }
  }
  if (!modes_->ok()) {
    return EPERM;
  }
  const ModeCall made = {
      static_cast<pid_t>(call.pid),
      call.data.nr,
      {call.data.args[0], call.data.args[1], call.data.args[2]}};
  return (*modes_)->Make(made, [this, &call] {
    return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &call.id) ==
           0;
  });
}

}  // namespace sandbox
