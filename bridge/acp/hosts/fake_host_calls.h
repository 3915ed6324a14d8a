// A server and a clock for tests of this room. Calls and timers wait until the
// test answers or runs them.

#ifndef BRIDGE_ACP_HOSTS_FAKE_HOST_CALLS_H_
#define BRIDGE_ACP_HOSTS_FAKE_HOST_CALLS_H_

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bridge/acp/hosts/host_calls.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

struct FakeHostCalls {
  template <typename Request, typename Response>
  struct Call {
    Request request;
    HostCalls::Done<Response> done;
  };
  struct Timer {
    absl::Duration delay;
    absl::AnyInvocable<void()> action;
  };

  std::deque<Call<corral::v1::ListNetworkEventsRequest,
                  corral::v1::ListNetworkEventsResponse>>
      lists;
  std::deque<Call<corral::v1::AllowHostsRequest, corral::v1::Sandbox>> allows;
  std::deque<Timer> timers;

  // Refers to this object.
  HostCalls Calls() {
    HostCalls calls;
    calls.list = [this](const auto& request, auto done) {
      lists.push_back({request, std::move(done)});
    };
    calls.allow = [this](const auto& request, auto done) {
      allows.push_back({request, std::move(done)});
    };
    calls.after = [this](absl::Duration delay, auto action) {
      timers.push_back({delay, std::move(action)});
    };
    return calls;
  }

  // Answers the first list with a refused look-up of each name; the first event
  // has this number.
  void AnswerList(int number, const std::vector<std::string>& names) {
    corral::v1::ListNetworkEventsResponse page;
    for (const std::string& name : names) {
      auto* const event = page.add_events();
      event->set_number(number++);
      event->set_kind(corral::v1::NetworkEvent::NAME_REFUSED);
      event->set_host(name);
    }
    auto list = std::move(lists.front());
    lists.pop_front();
    list.done(page);
  }

  void RunTimer() {
    auto timer = std::move(timers.front());
    timers.pop_front();
    timer.action();
  }
};

}  // namespace bridge

#endif  // BRIDGE_ACP_HOSTS_FAKE_HOST_CALLS_H_
