// The sockets of the name service: DNS over UDP and TCP.

#ifndef SANDBOX_EGRESS_DNS_SERVER_H_
#define SANDBOX_EGRESS_DNS_SERVER_H_

#include <map>
#include <memory>
#include <string>

#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/name_service.h"

namespace egress {

// Used on the thread of its loop only.
class DnsServer {
 public:
  // `udp` is bound, `tcp` listens; both do not block. `loop`, `timers` and
  // `service` must outlive the server.
  DnsServer(sandbox::EventLoop* loop, sandbox::Timers* timers,
            NameService* service, sandbox::UniqueFd udp, sandbox::UniqueFd tcp);
  ~DnsServer();

  // Connections beyond this number are closed at once.
  static constexpr size_t kMaxClients = 64;
  // The longest life of a connection, with any number of questions.
  static constexpr absl::Duration kClientTime = absl::Seconds(10);

 private:
  struct Client {
    sandbox::UniqueFd socket;
    std::string received;
    sandbox::Timer timeout;
  };

  void OnUdp();
  void OnTcp();
  void OnClient(int fd);
  // Returns false if the client is gone, or does not read its answers.
  bool Serve(Client& client);
  void Remove(int fd);

  sandbox::EventLoop* const loop_;
  sandbox::Timers* const timers_;
  NameService* const service_;
  const sandbox::UniqueFd udp_;
  const sandbox::UniqueFd tcp_;
  std::map<int, Client> clients_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_DNS_SERVER_H_
