// One call of ConnectPort.
//
// Used on the thread of the loop only; gRPC's threads only post to it.

#ifndef BRIDGE_CLIENT_PORT_STREAM_H_
#define BRIDGE_CLIENT_PORT_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "corral/v1/port.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/event_loop.h"

namespace client {

class PortStream final
    : public grpc::ClientBidiReactor<corral::v1::ConnectPortRequest,
                                     corral::v1::ConnectPortResponse>,
      public std::enable_shared_from_this<PortStream> {
 public:
  // None of the methods is called inside a method of the stream.
  class Observer {
   public:
    virtual void OnConnected() = 0;
    // Called after Read().
    virtual void OnData(std::string data) = 0;
    virtual void OnDataEnd() = 0;
    // Called after Write() or WriteEnd(), but not after a Write() that gRPC
    // reports as failed.
    virtual void OnWritten() = 0;
    // The last call.
    virtual void OnOver(const grpc::Status& status) = 0;

   protected:
    ~Observer() = default;
  };

  // `stub` and `observer` must live until OnOver().
  static std::shared_ptr<PortStream> Begin(
      std::shared_ptr<sandbox::EventLoop> loop,
      corral::v1::PortService::StubInterface* stub, const std::string& sandbox,
      uint16_t port, Observer* observer);

  void Read();
  // One at a time.
  void Write(std::string data);
  void WriteEnd();
  // OnOver() follows.
  void Cancel();

 private:
  PortStream(std::shared_ptr<sandbox::EventLoop> loop, Observer* observer)
      : loop_(std::move(loop)), observer_(observer) {}

  // Called on gRPC's threads.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  void Post(absl::AnyInvocable<void(PortStream&)> function);
  void OnRequested(bool ok);
  void OnResponse();
  void Release();

  const std::shared_ptr<sandbox::EventLoop> loop_;
  Observer* const observer_;
  // Keeps this object alive until OnOver().
  std::shared_ptr<PortStream> self_;
  grpc::ClientContext context_;
  corral::v1::ConnectPortRequest request_;
  corral::v1::ConnectPortResponse response_;
  // gRPC must not end the call between two operations that are begun here.
  bool held_ = true;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_PORT_STREAM_H_
