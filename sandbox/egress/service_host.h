// The objects that all exchanges with services share.

#ifndef SANDBOX_EGRESS_SERVICE_HOST_H_
#define SANDBOX_EGRESS_SERVICE_HOST_H_

#include <map>
#include <memory>
#include <string>

#include "sandbox/base/event_loop.h"
#include "sandbox/base/timers.h"
#include "sandbox/egress/address_filter.h"
#include "sandbox/egress/credentials.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/tls_context.h"

namespace egress {

// The contexts by the names of services. A service that has none, or null,
// trusts no upstream.
using TlsContexts = std::map<std::string, std::shared_ptr<TlsContext>>;

// The objects that all exchanges use and that outlive them.
struct ServiceHost {
  sandbox::EventLoop* loop;
  sandbox::Timers* timers;
  Resolver* resolver;
  const AddressFilter* filter;
  Credentials* credentials;
  const TlsContexts* contexts;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_SERVICE_HOST_H_
