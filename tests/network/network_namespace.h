// A network namespace of a test's own, with only a loopback interface.

#ifndef TESTS_NETWORK_NETWORK_NAMESPACE_H_
#define TESTS_NETWORK_NETWORK_NAMESPACE_H_

#include <functional>

#include "sandbox/base/unique_fd.h"

namespace tests {

// Needs root.
class NetworkNamespace {
 public:
  // Fails the test if there are no namespaces.
  NetworkNamespace();

  // Runs `function` in a thread inside, and waits for its end. Sockets that it
  // makes belong to the namespace for good.
  void Run(const std::function<void()>& function) const;

 private:
  sandbox::UniqueFd namespace_;
};

}  // namespace tests

#endif  // TESTS_NETWORK_NETWORK_NAMESPACE_H_
