#include "bridge/cli/attach/signal_catcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "sandbox/base/log.h"

namespace bridge {
namespace {

// Global, because a signal handler has no other way to reach it. Non-blocking:
// a signal is dropped if the pipe is full, after 65536 of them.
std::atomic<int> signal_pipe = -1;

// No signal has the number 0.
constexpr unsigned char kStop = 0;

void OnSignal(int number) {
  const int saved_errno = errno;
  const auto byte = static_cast<unsigned char>(number);
  (void)!::write(signal_pipe, &byte, 1);
  errno = saved_errno;
}

void Catch(int number) {
  struct sigaction action = {};
  ::sigaction(number, nullptr, &action);
  if (action.sa_handler == SIG_IGN) {
    return;
  }
  action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

}  // namespace

SignalCatcher::SignalCatcher(const std::vector<int>& signals,
                             std::function<void(int)> on_signal)
    : on_signal_(std::move(on_signal)) {
  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  receiver_.Reset(ends[0]);
  sender_.Reset(ends[1]);
  ::fcntl(sender_.get(), F_SETFL, O_NONBLOCK);
  signal_pipe = sender_.get();
  for (const int number : signals) {
    Catch(number);
  }
  thread_ = std::thread([this] { Run(); });
}

SignalCatcher::~SignalCatcher() {
  signal_pipe = -1;  // late signals are lost in write(-1)
  ::fcntl(sender_.get(), F_SETFL, 0);
  (void)!::write(sender_.get(), &kStop, 1);
  thread_.join();
}

void SignalCatcher::Run() {
  unsigned char number = kStop;
  while (::read(receiver_.get(), &number, 1) == 1 && number != kStop) {
    on_signal_(number);
  }
}

}  // namespace bridge
