// ProxyTest with a service "model". The test stands in for the supervisor.

#ifndef SANDBOX_EGRESS_SERVICE_FIXTURE_H_
#define SANDBOX_EGRESS_SERVICE_FIXTURE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/proxy_fixture.h"
#include "tests/network/tls_server.h"

namespace egress {

inline constexpr char kSecret[] = "sk-secret-0123456789";
inline constexpr char kHost[] = "model.corral.internal";
// The begin of a request.
inline constexpr char kGet[] =
    "GET /v1 HTTP/1.1\r\nHost: model.corral.internal\r\n";

// Answers each request for a credential.
class CredentialSupervisor {
 public:
  // If `value` is empty, the answer is the failure "no value".
  explicit CredentialSupervisor(std::string value);
  ~CredentialSupervisor();

  int socket() const { return theirs_.get(); }
  // Requests for a value instead of a refused one.
  int refusals() const { return refusals_; }

 private:
  void Serve();

  const std::string value_;
  sandbox::UniqueFd ours_;
  sandbox::UniqueFd theirs_;
  std::atomic<int> refusals_{0};
  std::thread thread_;
};

class ServiceTest : public ProxyTest {
 protected:
  // A service "model" whose upstream is `port` of api.example.
  void AddService(uint16_t port, const std::string& authorities);
  void AddService(const tests::TlsServer& server) {
    AddService(server.port(), server.authority());
  }
  // The descriptors of services follow those of the fixture.
  void Launch(const std::vector<int>& fds) override;
  // Sends the bytes to the service, and returns all that comes back.
  std::string Request(const std::string& bytes) {
    return Exchange(kHost, 80, bytes);
  }

  std::unique_ptr<CredentialSupervisor> supervisor_ =
      std::make_unique<CredentialSupervisor>(kSecret);
  sandbox::UniqueFd authorities_;
  // The start describes the descriptors.
  bool described_ = false;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_SERVICE_FIXTURE_H_
