// A DNS server of a test's own.

#ifndef TESTS_NETWORK_NAME_SERVER_H_
#define TESTS_NETWORK_NAME_SERVER_H_

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

// Listens on 127.0.0.1, over UDP and TCP. Thread-safe.
class NameServer {
 public:
  NameServer();
  ~NameServer();

  // "127.0.0.1:PORT"
  std::string address() const;

  // Answers questions with these IPv4 and IPv6 addresses from now on. A name
  // that was never set does not exist.
  void Set(const std::string& name, std::vector<std::string> addresses);

  // The names of all questions so far.
  std::vector<std::string> Questions();

 private:
  void Serve();
  void ServeTcp();
  std::string Answer(absl::string_view message, size_t limit);

  sandbox::UniqueFd udp_;
  sandbox::UniqueFd tcp_;
  sandbox::UniqueFd stop_;
  sandbox::Mutex mutex_;
  std::map<std::string, std::vector<std::string>> names_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> questions_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace tests

#endif  // TESTS_NETWORK_NAME_SERVER_H_
