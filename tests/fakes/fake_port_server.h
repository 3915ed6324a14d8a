// A corrald for tests of published ports: PortService on a temporary Unix
// socket, where the test itself is the server in the sandbox.
//
//   FakePortServer server;
//   const auto call = server.Accept();
//   call->Connect();
//   EXPECT_EQ(call->Receive(8), "question");

#ifndef TESTS_FAKES_FAKE_PORT_SERVER_H_
#define TESTS_FAKES_FAKE_PORT_SERVER_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "corral/v1/port.pb.h"
#include "grpcpp/server.h"
#include "grpcpp/support/status.h"
#include "grpcpp/support/sync_stream.h"
#include "sandbox/base/mutex.h"

namespace tests {

class FakePortServer {
 public:
  // One call of ConnectPort. Used by one thread only; everything but Finish()
  // blocks.
  class Call {
   public:
    using Stream = grpc::ServerReaderWriter<corral::v1::ConnectPortResponse,
                                            corral::v1::ConnectPortRequest>;
    Call(Stream* stream, corral::v1::OpenPort opened)
        : stream_(stream), opened_(std::move(opened)) {}

    const corral::v1::OpenPort& opened() const { return opened_; }

    void Connect();
    void Send(const std::string& data);
    void SendEnd();
    // A message of a kind that clients do not know.
    void SendUnknown();

    // The next message; one without a field when the client has left.
    corral::v1::ConnectPortRequest Next();
    // Returns `size` bytes, or fewer if the client ends.
    std::string Receive(size_t size);

    // Ends the call, unless it has ended; nothing follows.
    void Finish(const grpc::Status& status = grpc::Status::OK);
    // The same, as a server that drains: the call may succeed later.
    void RefuseForNow();

   private:
    friend class FakePortServer;
    grpc::Status AwaitFinish();

    Stream* const stream_;
    const corral::v1::OpenPort opened_;
    sandbox::Mutex mutex_;
    std::optional<grpc::Status> result_ ABSL_GUARDED_BY(mutex_);
  };

  // The name of the only sandbox.
  static constexpr char kSandbox[] = "tenants/default/sandboxes/box";

  FakePortServer();
  ~FakePortServer();
  FakePortServer(const FakePortServer&) = delete;
  FakePortServer& operator=(const FakePortServer&) = delete;

  // "unix:PATH".
  const std::string& address() const { return address_; }

  // Blocks until there is a call that no Accept() has returned yet.
  std::shared_ptr<Call> Accept();

  // Ends all calls with UNAVAILABLE and stops listening. Start() listens again.
  void Stop();
  void Start();

 private:
  class Ports;
  class Sandboxes;

  std::string directory_;
  std::string address_;
  sandbox::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<Call>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Ports> ports_;
  std::unique_ptr<Sandboxes> sandboxes_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace tests

#endif  // TESTS_FAKES_FAKE_PORT_SERVER_H_
