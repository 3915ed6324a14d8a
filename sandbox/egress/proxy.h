// The way out of one sandbox: its name service and its listeners.

#ifndef SANDBOX_EGRESS_PROXY_H_
#define SANDBOX_EGRESS_PROXY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/address_filter.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/credentials.h"
#include "sandbox/egress/dns_server.h"
#include "sandbox/egress/journal.h"
#include "sandbox/egress/name_service.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/packet_refuser.h"
#include "sandbox/egress/pipe_pool.h"
#include "sandbox/egress/policy.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/service_host.h"

namespace egress {

// Used on the thread of its loop only.
class Proxy {
 public:
  using Descriptors = std::vector<sandbox::UniqueFd>;

  // `start` describes `descriptors`; if it is wrong, fails with
  // InvalidArgument. `loop` and `journal` must outlive the proxy.
  static absl::StatusOr<std::unique_ptr<Proxy>> Create(sandbox::EventLoop* loop,
                                                       Journal* journal,
                                                       const wire::Start& start,
                                                       Descriptors descriptors);
  ~Proxy();

  // Replaces the policy for look-ups and connections to come, and listens on
  // further ports. Fails with InvalidArgument if `update` is wrong.
  absl::Status Update(const wire::Update& update, Descriptors descriptors);

 private:
  struct Listener {
    sandbox::UniqueFd socket;
    uint16_t port;
    // Pauses while the process has no descriptor left.
    sandbox::Timer pause;
  };

  Proxy(sandbox::EventLoop* loop, Journal* journal, Policy policy,
        AddressFilter filter, NameTable names,
        std::unique_ptr<Resolver> resolver);

  absl::Status TakeSockets(const wire::Start& start, Descriptors descriptors);
  void Listen(sandbox::UniqueFd socket, uint16_t port);
  void OnListener(Listener* listener);
  void Pause(Listener* listener);
  void Accept(sandbox::UniqueFd client, uint16_t port);
  void RefuseForRoom(sandbox::UniqueFd client, uint16_t port);

  sandbox::EventLoop* const loop_;
  Journal* const journal_;
  Policy policy_;
  const AddressFilter filter_;
  NameTable names_;
  const std::unique_ptr<Resolver> resolver_;
  PipePool pipes_;
  TlsContexts contexts_;
  std::unique_ptr<Credentials> credentials_;
  ConnectionHost host_;
  std::unique_ptr<NameService> service_;
  std::unique_ptr<DnsServer> dns_;
  // Null if the host has no TUN devices.
  std::unique_ptr<PacketRefuser> refuser_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  uint64_t next_connection_ = 0;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_PROXY_H_
