#ifndef BRIDGE_ACP_HOSTS_NAME_FOLLOWER_H_
#define BRIDGE_ACP_HOSTS_NAME_FOLLOWER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "bridge/acp/hosts/host_calls.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// Reports each look-up of a name that no rule of a sandbox matches. Asks the
// server every 500 ms, until the sandbox is gone or this object is destroyed.
// Used on the loop's thread only.
class NameFollower {
 public:
  using OnRefused = absl::AnyInvocable<void(const std::string& name)>;

  // `name` is as a program chose it, at most 253 bytes. `on_refused` must not
  // destroy this object. `calls` must outlive this object.
  NameFollower(HostCalls* calls, std::string sandbox, OnRefused on_refused);

  NameFollower(const NameFollower&) = delete;
  NameFollower& operator=(const NameFollower&) = delete;

 private:
  using Page = absl::StatusOr<corral::v1::ListNetworkEventsResponse>;

  void Ask();
  void OnPage(const Page& page);

  HostCalls* const calls_;
  const std::string sandbox_;
  OnRefused on_refused_;
  uint64_t after_ = 0;  // the last event that was seen
  // Answers and timers hold a weak_ptr to it.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace bridge

#endif  // BRIDGE_ACP_HOSTS_NAME_FOLLOWER_H_
