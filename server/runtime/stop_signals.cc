#include "server/runtime/stop_signals.h"

#include <pthread.h>

#include <csignal>
#include <functional>
#include <utility>

namespace server {
namespace {

// Wakes the thread so that it ends. The same signal from another process has no
// effect.
constexpr int kWake = SIGUSR1;

// Signals that would end the process and mean nothing to it. SIGHUP comes when
// the terminal goes from which a server was started.
constexpr int kMeaningless[] = {SIGHUP,  SIGUSR2, SIGALRM, SIGVTALRM,
                                SIGPROF, SIGPOLL, SIGPWR,  SIGSTKFLT,
                                SIGXCPU, SIGXFSZ};

sigset_t WaitedFor() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, kWake);
  for (const int signal : kMeaningless) {
    sigaddset(&signals, signal);
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    sigaddset(&signals, signal);
  }
  return signals;
}

}  // namespace

void StopSignals::Block() {
  sigset_t signals = WaitedFor();
  // Blocked instead of ignored: the processes that this one starts would
  // inherit that a signal is ignored.
  std::signal(SIGPIPE, SIG_DFL);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

StopSignals::StopSignals(std::function<void()> on_signal)
    : thread_([this, on_signal = std::move(on_signal)] {
        const sigset_t signals = WaitedFor();
        int signal = 0;
        while (sigwait(&signals, &signal) == 0 && !ending_) {
          if (signal == SIGTERM || signal == SIGINT) {
            on_signal();
          }
        }
      }) {}

StopSignals::~StopSignals() {
  ending_ = true;
  pthread_kill(thread_.native_handle(), kWake);
  thread_.join();
}

}  // namespace server
