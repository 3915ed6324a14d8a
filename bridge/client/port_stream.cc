#include "bridge/client/port_stream.h"

#include <utility>

namespace client {

std::shared_ptr<PortStream> PortStream::Begin(
    std::shared_ptr<sandbox::EventLoop> loop,
    corral::v1::PortService::StubInterface* stub, const std::string& sandbox,
    uint16_t port, Observer* observer) {
  // make_shared cannot reach the constructor.
  std::shared_ptr<PortStream> self(new PortStream(std::move(loop), observer));
  self->self_ = self;
  stub->async()->ConnectPort(&self->context_, self.get());
  self->AddHold();
  self->request_.mutable_open()->set_name(sandbox);
  self->request_.mutable_open()->set_port(port);
  self->StartWrite(&self->request_);
  self->StartCall();
  return self;
}

void PortStream::Post(absl::AnyInvocable<void(PortStream&)> function) {
  // The owner may leave the loop as soon as the function has run.
  const std::shared_ptr<sandbox::EventLoop> loop = loop_;
  loop->Post([self = shared_from_this(),
              function = std::move(function)]() mutable { function(*self); });
}

void PortStream::OnReadDone(bool ok) {
  if (ok) {
    Post([](PortStream& stream) { stream.OnResponse(); });
  } else {
    Post([](PortStream& stream) { stream.Release(); });
  }
}

void PortStream::OnWriteDone(bool ok) {
  Post([ok](PortStream& stream) { stream.OnRequested(ok); });
}

void PortStream::OnRequested(bool ok) {
  if (request_.has_open()) {
    // Reads also after a failure: the read then ends the call.
    Read();
  } else if (ok || request_.has_end()) {
    // gRPC may report that an end failed which made the server end the call.
    observer_->OnWritten();
  }
}

void PortStream::OnDone(const grpc::Status& status) {
  Post([status](PortStream& stream) {
    stream.observer_->OnOver(status);
    stream.self_.reset();
  });
}

void PortStream::OnResponse() {
  if (response_.has_connected()) {
    observer_->OnConnected();
  } else if (response_.has_data()) {
    observer_->OnData(std::move(*response_.mutable_data()));
  } else if (response_.has_end()) {
    observer_->OnDataEnd();
    Read();  // the end of the call
  } else {
    Read();  // a newer server sent it
  }
}

void PortStream::Read() {
  if (held_) {
    StartRead(&response_);
  }
}

void PortStream::Write(std::string data) {
  request_.set_data(std::move(data));
  if (held_) {
    StartWrite(&request_);
  }
}

void PortStream::WriteEnd() {
  request_.mutable_end();
  if (held_) {
    StartWrite(&request_);
  }
}

void PortStream::Cancel() {
  context_.TryCancel();
  Release();
}

void PortStream::Release() {
  if (held_) {
    held_ = false;
    RemoveHold();
  }
}

}  // namespace client
