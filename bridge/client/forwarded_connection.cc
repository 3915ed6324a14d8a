#include "bridge/client/forwarded_connection.h"

#include <sys/socket.h>

#include <optional>
#include <utility>

#include "sandbox/base/reset_on_close.h"

namespace client {
namespace {

RetryRules RulesOf(const Timing& timing) {
  RetryRules rules;
  rules.patience = timing.patience;
  rules.interval = timing.retry_interval;
  return rules;
}

}  // namespace

ForwardedConnection::ForwardedConnection(
    std::shared_ptr<sandbox::EventLoop> loop, Connection* connection,
    const std::string& sandbox, uint16_t port, sandbox::UniqueFd socket,
    const Observer* observer)
    : loop_(std::move(loop)),
      connection_(connection),
      sandbox_(sandbox),
      port_(port),
      observer_(observer),
      socket_(std::move(socket)),
      schedule_(RulesOf(connection->timing())) {}

void ForwardedConnection::Begin() { Attempt(); }

void ForwardedConnection::Attempt() {
  state_ = State::kConnecting;
  begin_ = connection_->timing().now();
  stream_ =
      PortStream::Begin(loop_, &connection_->ports(), sandbox_, port_, this);
}

void ForwardedConnection::Cancel() {
  if (state_ == State::kWaiting) {
    retry_.Cancel();
    // Deferred, since the caller may be in a loop over its connections.
    loop_->Defer([this] { Finish(grpc::Status::CANCELLED); });
    state_ = State::kEnding;
  } else if (state_ != State::kEnding) {
    state_ = State::kEnding;
    stream_->Cancel();
  }
}

void ForwardedConnection::OnConnected() {
  if (state_ != State::kConnecting) {
    Cancel();
    return;
  }
  state_ = State::kOpen;
  pump_ = std::make_unique<sandbox::SocketPump>(
      loop_.get(), std::move(socket_), this,
      sandbox::SocketPump::kCompatibleData);
  pump_->Begin();
}

void ForwardedConnection::OnData(std::string data) {
  if (pump_ == nullptr) {
    Cancel();
    return;
  }
  pump_->OnRead(std::move(data));
}

void ForwardedConnection::OnDataEnd() {
  if (pump_ == nullptr) {
    Cancel();
    return;
  }
  pump_->OnReadEnd();
}

void ForwardedConnection::OnWritten() { pump_->OnWritten(); }

void ForwardedConnection::OnOver(const grpc::Status& status) {
  if (state_ != State::kConnecting) {
    Finish(status);
    return;
  }
  const absl::Time now = connection_->timing().now();
  const std::optional<RetrySchedule::Attempt> again =
      schedule_.OnResult(status, begin_, now);
  if (!again.has_value()) {
    Finish(status);
    return;
  }
  state_ = State::kWaiting;
  retry_ = sandbox::Timer(loop_.get(), again->delay, [this] { Attempt(); });
  if (Classify(status) == CallResult::kServerGone) {
    observer_->server_gone();
  }
}

void ForwardedConnection::Write(std::string data) {
  stream_->Write(std::move(data));
}

void ForwardedConnection::WriteEnd() { stream_->WriteEnd(); }

void ForwardedConnection::Read() { stream_->Read(); }

void ForwardedConnection::OnEnd(const absl::Status& status) {
  // If the status is OK, the server ends the call.
  if (!status.ok()) {
    state_ = State::kEnding;
    stream_->Cancel();
  }
}

void ForwardedConnection::Finish(const grpc::Status& status) {
  pump_.reset();
  sandbox::ResetOnClose(socket_.get());
  socket_.Reset();
  observer_->over(this, status);
}

}  // namespace client
