// The frames of HTTP/2 (RFC 9113) that a Connection sends, to a server that is
// the test.

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "bridge/client/connection.h"
#include "bridge/client/timing.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace client {
namespace {

using sandbox::UniqueFd;

constexpr size_t kPrefaceBytes = 24;
constexpr size_t kHeaderBytes = 9;

enum FrameType : uint8_t {
  kHeaders = 1,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoaway = 7,
};
constexpr uint8_t kAck = 1;

struct Frame {
  uint8_t type = 0;
  uint8_t flags = 0;
  std::string stream = std::string(4, '\0');
  std::string payload = {};
};

// Ends a stream of which the server has seen nothing.
Frame Refusal(const std::string& stream) {
  return {kRstStream, 0, stream, {0, 0, 0, 7}};
}

// Ends a connection on which the server has seen no stream.
Frame Goodbye() { return {kGoaway, 0, Frame().stream, std::string(8, '\0')}; }

// One connection at a time is served, by one thread.
class FrameServer {
 public:
  FrameServer() {
    char directory[] = "/tmp/connection_frames_test.XXXXXX";
    directory_ = ::mkdtemp(directory);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address),
                     sizeof address),
              0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
  }
  ~FrameServer() {
    ::unlink(path().c_str());
    ::rmdir(directory_.c_str());
  }

  std::string address() const { return "unix:" + path(); }

  // Waits for a connection that is used, and greets its client. A client first
  // connects only to see whether somebody listens. Returns false after Close().
  bool Accept() {
    do {
      connection_.Reset(::accept(listener_.get(), nullptr, nullptr));
    } while (connection_.valid() && !Receive(kPrefaceBytes).has_value());
    if (connection_.valid()) {
      Send({kSettings});
    }
    return connection_.valid();
  }

  // The next frame; nothing at the end of the connection.
  std::optional<Frame> Next() {
    const std::optional<std::string> header = Receive(kHeaderBytes);
    if (!header.has_value()) {
      return std::nullopt;
    }
    size_t size = 0;
    for (const char byte : header->substr(0, 3)) {
      size = size << 8 | static_cast<uint8_t>(byte);
    }
    std::optional<std::string> payload = Receive(size);
    return Frame{static_cast<uint8_t>((*header)[3]),
                 static_cast<uint8_t>((*header)[4]), header->substr(5),
                 std::move(payload).value_or("")};
  }

  // At most 255 bytes of payload.
  void Send(const Frame& frame) {
    const std::string header = {0, 0, static_cast<char>(frame.payload.size()),
                                static_cast<char>(frame.type),
                                static_cast<char>(frame.flags)};
    const std::string bytes = header + frame.stream + frame.payload;
    ::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // Accepts nothing any more. May be called by another thread.
  void Close() { ::shutdown(listener_.get(), SHUT_RDWR); }

 private:
  std::string path() const { return directory_ + "/socket"; }

  std::optional<std::string> Receive(size_t size) {
    std::string bytes(size, '\0');
    const ssize_t received =
        ::recv(connection_.get(), bytes.data(), size, MSG_WAITALL);
    return received == static_cast<ssize_t>(size) ? std::make_optional(bytes)
                                                  : std::nullopt;
  }

  std::string directory_;
  UniqueFd listener_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  UniqueFd connection_;
};

std::unique_ptr<Connection> Connect(const FrameServer& server,
                                    const Timing& timing = {}) {
  ConnectOptions options;
  options.server = server.address();
  options.timing = timing;
  return Connection::Open(options).value();
}

grpc::Status GetSandbox(Connection& connection) {
  grpc::ClientContext context;
  corral::v1::Sandbox sandbox;
  return connection.sandboxes().GetSandbox(&context, {}, &sandbox);
}

TEST(ConnectionFramesTest, ACallIsMadeOnceAlsoIfTheServerHasNotSeenIt) {
  FrameServer server;
  int calls = 0;
  std::thread thread([&] {
    while (server.Accept()) {
      std::optional<Frame> frame = server.Next();
      while (frame.has_value() && frame->type != kHeaders) {
        frame = server.Next();
      }
      calls += frame.has_value() ? 1 : 0;
      server.Send(Goodbye());
    }
  });
  auto connection = Connect(server);
  EXPECT_EQ(GetSandbox(*connection).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  connection.reset();
  server.Close();
  thread.join();
  EXPECT_EQ(calls, 1);
}

TEST(ConnectionFramesTest, ACallThatWaitsIsTestedByAnyNumberOfPings) {
  FrameServer server;
  auto served = std::async(std::launch::async, [&] {
    server.Accept();
    std::string stream;
    int pings = 0;
    // gRPC alone would send two without data.
    while (pings < 3) {
      const std::optional<Frame> frame = server.Next();
      if (!frame.has_value()) {
        break;
      }
      if (frame->type == kHeaders) {
        stream = frame->stream;
      } else if (frame->type == kPing && frame->flags == 0) {
        ++pings;
        server.Send({kPing, kAck, std::string(4, '\0'), frame->payload});
      }
    }
    server.Send(Refusal(stream));
    return pings;
  });
  Timing timing;
  timing.keepalive_interval = absl::Milliseconds(10);
  timing.keepalive_timeout = absl::Hours(1);
  const auto connection = Connect(server, timing);
  EXPECT_EQ(GetSandbox(*connection).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(served.get(), 3);
}

}  // namespace
}  // namespace client
