#include "server/runtime/stop_signals.h"

#include <pthread.h>

#include <csignal>
#include <functional>
#include <utility>

namespace server {
namespace {

// Ends the thread; like the others it is taken by sigwait only.
constexpr int kEnd = SIGUSR1;

sigset_t WaitedFor() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, kEnd);
  return signals;
}

}  // namespace

void StopSignals::Block() {
  sigset_t signals = WaitedFor();
  // Blocked and not ignored: an ignored signal stays ignored in the processes
  // that this one starts.
  std::signal(SIGPIPE, SIG_DFL);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

StopSignals::StopSignals(std::function<void()> on_signal)
    : thread_([on_signal = std::move(on_signal)] {
        const sigset_t signals = WaitedFor();
        int signal = 0;
        while (sigwait(&signals, &signal) == 0 && signal != kEnd) {
          on_signal();
        }
      }) {}

StopSignals::~StopSignals() {
  pthread_kill(thread_.native_handle(), kEnd);
  thread_.join();
}

}  // namespace server
