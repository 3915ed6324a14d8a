// AllowHosts: rules that a sandbox gets while it runs.

#ifndef SERVER_RPC_ALLOW_HOSTS_H_
#define SERVER_RPC_ALLOW_HOSTS_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "corral/v1/sandbox.pb.h"
#include "server/api/ceilings.h"
#include "server/core/disk_reads.h"
#include "server/core/sandbox.h"

namespace server {

// Checks the request, waits until the server has found the supervisor, has it
// add the rules, and writes all rules to the sandbox's spec.pb on a thread of
// `disk`. `reply` is called once, on any thread, with OK, INVALID_FIELD,
// EGRESS_UNAVAILABLE, SANDBOX_NOT_FOUND, SANDBOX_NOT_READY or SERVER_FAULT.
// `request` may be gone when it returns.
void AllowHosts(const std::shared_ptr<Sandbox>& sandbox,
                const corral::v1::AllowHostsRequest& request,
                const Ceilings& ceilings, DiskReads* disk,
                absl::AnyInvocable<void(absl::Status)> reply);

}  // namespace server

#endif  // SERVER_RPC_ALLOW_HOSTS_H_
