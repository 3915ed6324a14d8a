// A proxy on a Unix socket whose connections can go silent, as when a NAT
// forgets them or a laptop slept: no bytes, and no end either.

#ifndef TESTS_FAKES_SILENT_PROXY_H_
#define TESTS_FAKES_SILENT_PROXY_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

// Thread-safe.
class SilentProxy {
 public:
  // Connects to `target`, "unix:PATH".
  explicit SilentProxy(const std::string& target);
  ~SilentProxy();

  SilentProxy(const SilentProxy&) = delete;
  SilentProxy& operator=(const SilentProxy&) = delete;

  // "unix:PATH".
  const std::string& address() const { return address_; }

  // The connections that exist pass no byte any more, and stay open. New
  // connections work. Returns when that is so.
  void SilenceConnections() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Connection {
    sandbox::UniqueFd client;
    sandbox::UniqueFd server;
    bool silent = false;
  };

  void Run();
  void Accept();
  void Forward(Connection& connection, short client_events,
               short server_events);

  std::string directory_;
  std::string address_;
  std::string target_path_;
  sandbox::UniqueFd listener_;
  sandbox::UniqueFd wakeup_;                              // an eventfd
  std::vector<std::unique_ptr<Connection>> connections_;  // of the thread

  sandbox::Mutex mutex_;
  bool silence_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tests

#endif  // TESTS_FAKES_SILENT_PROXY_H_
