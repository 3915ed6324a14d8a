// The thread that moves the bytes of all connections to servers in sandboxes.

#ifndef SERVER_PORTS_FORWARDING_THREAD_H_
#define SERVER_PORTS_FORWARDING_THREAD_H_

#include <memory>
#include <thread>

#include "sandbox/base/event_loop.h"

namespace server {

class ForwardingThread {
 public:
  ForwardingThread()
      : loop_(sandbox::EventLoop::Create().value()),
        thread_([this] { loop_->Run(); }) {}
  // Runs what was posted before.
  ~ForwardingThread() {
    loop_->Stop();
    thread_.join();
  }
  ForwardingThread(const ForwardingThread&) = delete;
  ForwardingThread& operator=(const ForwardingThread&) = delete;

  // After the end of the thread, it runs nothing that is posted.
  const std::shared_ptr<sandbox::EventLoop>& loop() const { return loop_; }

 private:
  const std::shared_ptr<sandbox::EventLoop> loop_;
  std::thread thread_;
};

}  // namespace server

#endif  // SERVER_PORTS_FORWARDING_THREAD_H_
