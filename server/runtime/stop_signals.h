// SIGTERM and SIGINT, as requests to stop.

#ifndef SERVER_RUNTIME_STOP_SIGNALS_H_
#define SERVER_RUNTIME_STOP_SIGNALS_H_

#include <csignal>
#include <functional>
#include <thread>

namespace server {

class StopSignals {
 public:
  // Keeps the signals, and SIGPIPE, from every thread that is made later. Call
  // it in main, before any thread is made.
  static void Block();

  // Calls `on_signal` on a thread of its own each time one of them comes.
  explicit StopSignals(std::function<void()> on_signal);
  ~StopSignals();

  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  std::thread thread_;
};

}  // namespace server

#endif  // SERVER_RUNTIME_STOP_SIGNALS_H_
