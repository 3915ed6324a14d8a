#include "bridge/acp/hosts/name_follower.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace bridge {
namespace {

using corral::v1::NetworkEvent;

constexpr int kPage = 1000;
constexpr absl::Duration kInterval = absl::Milliseconds(500);

}  // namespace

NameFollower::NameFollower(HostCalls* calls, std::string sandbox,
                           OnRefused on_refused)
    : calls_(calls),
      sandbox_(std::move(sandbox)),
      on_refused_(std::move(on_refused)) {
  Ask();
}

void NameFollower::Ask() {
  corral::v1::ListNetworkEventsRequest request;
  request.set_name(sandbox_);
  request.set_after(after_);
  request.set_page_size(kPage);
  calls_->list(request,
               [this, alive = std::weak_ptr<bool>(alive_)](const Page& page) {
                 if (!alive.expired()) {
                   OnPage(page);
                 }
               });
}

void NameFollower::OnPage(const Page& page) {
  if (absl::IsNotFound(page.status())) {
    return;
  }
  // Another failure may pass: the server has been asked for 15 s, or refused.
  if (page.ok()) {
    for (const NetworkEvent& event : page->events()) {
      after_ = event.number();
      if (event.kind() == NetworkEvent::NAME_REFUSED) {
        on_refused_(event.host());
      }
    }
  }
  calls_->after(kInterval, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) {
      Ask();
    }
  });
}

}  // namespace bridge
