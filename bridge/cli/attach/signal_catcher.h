// Delivers signals sent to this process as calls on a thread.

#ifndef BRIDGE_CLI_ATTACH_SIGNAL_CATCHER_H_
#define BRIDGE_CLI_ATTACH_SIGNAL_CATCHER_H_

#include <functional>
#include <thread>
#include <vector>

#include "sandbox/base/unique_fd.h"

namespace bridge {

// At most one exists in a process. A signal that was ignored when the program
// started (as nohup does) stays ignored. The others no longer end the process.
class SignalCatcher {
 public:
  // `on_signal` may block; later signals wait, in their order.
  SignalCatcher(const std::vector<int>& signals,
                std::function<void(int number)> on_signal);
  // Waits for `on_signal` to return. From then on the signals have no effect.
  ~SignalCatcher();

  SignalCatcher(const SignalCatcher&) = delete;
  SignalCatcher& operator=(const SignalCatcher&) = delete;

 private:
  void Run();

  const std::function<void(int)> on_signal_;
  sandbox::UniqueFd receiver_;
  sandbox::UniqueFd sender_;
  std::thread thread_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_SIGNAL_CATCHER_H_
