#ifndef BRIDGE_ACP_HOSTS_HOST_CALLS_H_
#define BRIDGE_ACP_HOSTS_HOST_CALLS_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// The calls that this room needs, and its timer. Each answer and action runs on
// the loop.
struct HostCalls {
  template <typename Response>
  using Done = absl::AnyInvocable<void(absl::StatusOr<Response>)>;

  absl::AnyInvocable<void(const corral::v1::ListNetworkEventsRequest&,
                          Done<corral::v1::ListNetworkEventsResponse>)>
      list;
  absl::AnyInvocable<void(const corral::v1::AllowHostsRequest&,
                          Done<corral::v1::Sandbox>)>
      allow;
  absl::AnyInvocable<void(absl::Duration, absl::AnyInvocable<void()>)> after;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_HOSTS_HOST_CALLS_H_
