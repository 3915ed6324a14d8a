#include "bridge/acp/remote/connector.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace bridge {
namespace {

constexpr absl::Duration kReconnectTimeout = absl::Seconds(1);

}  // namespace

Connector::Connector(PollLoop* loop, client::ConnectOptions options)
    : loop_(loop), options_(std::move(options)) {}

Connector::~Connector() {
  abandoned_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Connector::Connect(Done done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() == 1) {
    thread_ = std::thread([this, known = connection_.get()] { Try(known); });
  }
}

void Connector::Try(client::Connection* known) {
  status_ = absl::OkStatus();
  if (known == nullptr) {
    auto opened = client::Connection::Open(options_);
    status_ = opened.status();
    opened_ = opened.ok() ? *std::move(opened) : nullptr;
  } else if (!known->Reconnect(absl::Now() + kReconnectTimeout,
                               [this] { return abandoned_.load(); })) {
    status_ = absl::UnavailableError(
        absl::StrCat("no server answers at ", known->address()));
  }
  loop_->Post([this] { OnTried(); });
}

void Connector::OnTried() {
  thread_.join();
  if (opened_ != nullptr) {
    connection_ = std::move(opened_);
  }
  for (Done& done : std::exchange(waiting_, {})) {
    done(status_);
  }
}

}  // namespace bridge
