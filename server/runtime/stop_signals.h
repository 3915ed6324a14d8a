// Turns SIGTERM and SIGINT into requests to stop, and discards signals that
// mean nothing to the process but would end it.

#ifndef SERVER_RUNTIME_STOP_SIGNALS_H_
#define SERVER_RUNTIME_STOP_SIGNALS_H_

#include <atomic>
#include <functional>
#include <thread>

namespace server {

class StopSignals {
 public:
  // Blocks all these signals, and SIGPIPE, in every thread that is made later.
  // Call it in main, before any thread is made. Programs that the process
  // starts must unblock them.
  static void Block();

  // Calls `on_signal` on a thread of its own each time SIGTERM or SIGINT comes.
  explicit StopSignals(std::function<void()> on_signal);
  ~StopSignals();

  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  std::atomic<bool> ending_ = false;
  // Declared last, since it uses the other members.
  std::thread thread_;
};

}  // namespace server

#endif  // SERVER_RUNTIME_STOP_SIGNALS_H_
