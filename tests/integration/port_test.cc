// Published ports, from a program on this machine to a server in a sandbox.

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/socket_pump.h"
#include "sandbox/base/unique_fd.h"
#include "tests/integration/integration_test.h"
#include "tests/network/loopback.h"
#include "tests/process.h"

namespace tests {
namespace {

using sandbox::UniqueFd;
using ::testing::HasSubstr;

// A server for any number of connections. The first letter says what one does:
// e: send everything back; s: swallow all, then send its size; h: say "hello"
// and close; r: reset; n: read nothing; f: send until nobody has taken anything
// for two seconds, then say how much that was and close.
constexpr char kServer[] = R"(
import socket, struct, sys, threading
def serve(c):
    kind = c.recv(1)
    if kind == b'e':
        while data := c.recv(1 << 16):
            c.sendall(data)
    elif kind == b's':
        size = 0
        while data := c.recv(1 << 16):
            size += len(data)
        c.sendall(str(size).encode())
    elif kind == b'h':
        c.sendall(b'hello')
    elif kind == b'r':
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    elif kind == b'n':
        threading.Event().wait()
    elif kind == b'f':
        sent = 0
        c.settimeout(2)
        try:
            while sent < 1 << 28:
                sent += c.send(bytes(1 << 16))
        except TimeoutError:
            pass
        print('sent', sent, flush=True)
        c.settimeout(None)
    c.close()
s = socket.create_server(('127.0.0.1', 8080), backlog=1024)
print('ready', flush=True)
while True:
    threading.Thread(target=serve, args=[s.accept()[0]], daemon=True).start()
)";

// The connections of a test in which nobody reads. The other side would send
// 256 MiB on each.
constexpr int kUnread = 2;
// The window of a stream of gRPC follows the product of bandwidth and delay,
// but its controller (flow_control.cc of gRPC 1.51) never exceeds 2^25 bytes.
constexpr size_t kLargestWindow = size_t{1} << 25;
// Beside the window, a connection has one message that gRPC reads and one that
// it writes, one buffer of the pump for each direction, and what gRPC accepts
// before it has sent it.
constexpr size_t kBuffers = 5 * sandbox::SocketPump::kMaxData;
// The most bytes that they take in a process: 65 MiB.
constexpr size_t kHeld = kUnread * (kLargestWindow + kBuffers);
#if defined(__SANITIZE_ADDRESS__)
// ASan keeps 256 MiB that were freed, and one byte of shadow for eight.
constexpr size_t kMostMemory = (kHeld + (size_t{256} << 20)) / 8 * 9;
#else
constexpr size_t kMostMemory = kHeld;
#endif

std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

class PortTest : public IntegrationTest {
 protected:
  void TearDown() override {
    forward_.reset();
    IntegrationTest::TearDown();
  }

  std::unique_ptr<Process> Corral(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "./corral");
    return std::make_unique<Process>(std::move(arguments),
                                     std::vector<std::string>{absl::StrCat(
                                         "CORRAL_SERVER=", server_.address())});
  }
  // A sandbox whose server listens on port 8080.
  std::string Serve() {
    std::string sandbox = CreateSandbox();
    Serve(sandbox);
    return sandbox;
  }
  void Serve(const std::string& sandbox) {
    execution_ =
        client_->Start(sandbox, MakeCommand({"python3", "-c", kServer})).name();
    const auto output = client_->Stream(execution_);
    output->ReadUntil(corral::v1::STDOUT, "ready");
  }
  // The size in the next line "sent SIZE" of the server.
  uint64_t NextSize(OutputCall& output) {
    std::string& bytes = output.bytes[corral::v1::STDOUT];
    size_t end;
    while ((end = bytes.find('\n', bytes.find("sent "))) == std::string::npos) {
      if (!output.Next()) {
        ADD_FAILURE() << "the server has ended";
        return 0;
      }
    }
    const size_t begin = bytes.find("sent ") + 5;
    uint64_t size = 0;
    EXPECT_TRUE(absl::SimpleAtoi(bytes.substr(begin, end - begin), &size));
    bytes.erase(0, end);
    return size;
  }
  // The bytes that are resident of a process.
  static size_t Memory(pid_t pid) {
    std::ifstream file(absl::StrCat("/proc/", pid, "/statm"));
    size_t size = 0;
    size_t resident = 0;
    file >> size >> resident;
    return resident * static_cast<size_t>(::getpagesize());
  }
  // Begins corral port-forward, and returns the local port.
  uint16_t Forward(const std::string& sandbox, int port = 8080) {
    forward_ = Corral({"port-forward", sandbox, absl::StrCat(port, ":0")});
    return LocalPort(*forward_);
  }
  // Waits until the program has written a line that holds `text` to its
  // standard error, and returns what follows in that line.
  static std::string AwaitError(Process& program, const std::string& text) {
    for (std::string error;; std::this_thread::yield()) {
      error = program.ReadError();
      const size_t found = error.find(text);
      const size_t end = error.find('\n', found);
      if (found != std::string::npos && end != std::string::npos) {
        return error.substr(found + text.size(), end - found - text.size());
      }
    }
  }
  static uint16_t LocalPort(Process& program) {
    uint32_t port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(AwaitError(program, "is at 127.0.0.1:"), &port));
    return static_cast<uint16_t>(port);
  }

  std::unique_ptr<Process> forward_;
  std::string execution_;
};

TEST_F(PortTest, PassesEverythingBothWaysAtOnce) {
  const uint16_t port = Forward(Serve());
  const UniqueFd socket = ConnectToLoopback(port);
  const std::string bytes = Pattern(size_t{100} << 20);
  ASSERT_TRUE(Send(socket.get(), "e"));
  std::thread sender([&] {
    EXPECT_TRUE(Send(socket.get(), bytes));
    ::shutdown(socket.get(), SHUT_WR);
  });
  EXPECT_TRUE(Receive(socket.get(), bytes.size()) == bytes);
  EXPECT_EQ(ReceiveEnd(socket.get()), 0);
  sender.join();
}

TEST_F(PortTest, KeepsOneDirectionOpenWhenTheOtherHasEnded) {
  const uint16_t port = Forward(Serve());
  const UniqueFd socket = ConnectToLoopback(port);
  Send(socket.get(), "s12345");
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(Receive(socket.get(), 100), "5");
}

TEST_F(PortTest, ServesManyConnectionsAtOnce) {
  const uint16_t port = Forward(Serve());
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 200; ++i) {
    sockets.push_back(ConnectToLoopback(port));
    Send(sockets.back().get(), absl::StrCat("e", i, "."));
  }
  for (int i = 0; i < 200; ++i) {
    const std::string text = absl::StrCat(i, ".");
    EXPECT_EQ(Receive(sockets[i].get(), text.size()), text);
  }
}

TEST_F(PortTest, PassesResetsOn) {
  const uint16_t port = Forward(Serve());
  const UniqueFd socket = ConnectToLoopback(port);
  Send(socket.get(), "r");
  EXPECT_EQ(ReceiveEnd(socket.get()), -ECONNRESET);
}

TEST_F(PortTest, ReportsAPortOnWhichNobodyListens) {
  const std::string sandbox = Serve();
  const uint16_t port = Forward(sandbox, 8081);
  const UniqueFd socket = ConnectToLoopback(port);
  EXPECT_EQ(ReceiveEnd(socket.get()), -ECONNRESET);
  AwaitError(*forward_, "no server listens on port 8081");
}

TEST_F(PortTest, HoldsBackAServerWhoseDataNobodyReads) {
  const std::string sandbox = Serve();
  const uint16_t port = Forward(sandbox);
  const size_t before = Memory(server_.pid());
  const size_t forward_before = Memory(forward_->pid());
  const auto output = client_->Stream(execution_);
  std::vector<UniqueFd> sockets;
  uint64_t sum = 0;
  for (int i = 0; i < kUnread; ++i) {
    sockets.push_back(ConnectToLoopback(port));
    Send(sockets.back().get(), "f");
  }
  for (int i = 0; i < kUnread; ++i) {
    sum += NextSize(*output);
  }
  EXPECT_LT(sum, uint64_t{kUnread} << 28);
  EXPECT_LT(Memory(server_.pid()), before + kMostMemory);
  EXPECT_LT(Memory(forward_->pid()), forward_before + kMostMemory);
  // Everything that was sent is there.
  for (const UniqueFd& socket : sockets) {
    for (std::string data = " "; !data.empty(); sum -= data.size()) {
      data = Receive(socket.get(), 1 << 16);
    }
  }
  EXPECT_EQ(sum, 0);
}

TEST_F(PortTest, HoldsBackAProgramWhoseDataTheServerDoesNotRead) {
  const uint16_t port = Forward(Serve());
  const size_t before = Memory(server_.pid());
  const size_t forward_before = Memory(forward_->pid());
  const std::string block(1 << 16, 'x');
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < kUnread; ++i) {
    sockets.push_back(ConnectToLoopback(port));
    Send(sockets.back().get(), "n");
    const timeval patience = {0, 300'000};
    ::setsockopt(sockets.back().get(), SOL_SOCKET, SO_SNDTIMEO, &patience,
                 sizeof(patience));
    size_t sent = 0;
    while (sent < size_t{1} << 28 && Send(sockets.back().get(), block)) {
      sent += block.size();
    }
    EXPECT_LT(sent, size_t{1} << 28);
  }
  EXPECT_LT(Memory(server_.pid()), before + kMostMemory);
  EXPECT_LT(Memory(forward_->pid()), forward_before + kMostMemory);
}

TEST_F(PortTest, FindsAServerThatIsStartedAgain) {
  const std::string sandbox = Serve();
  const uint16_t port = Forward(sandbox);
  const UniqueFd before = ConnectToLoopback(port);
  Send(before.get(), "e1");
  EXPECT_EQ(Receive(before.get(), 1), "1");
  client_->Signal(execution_, SIGKILL);
  EXPECT_EQ(ReceiveEnd(before.get()), 0);
  client_->Wait(execution_);
  const UniqueFd between = ConnectToLoopback(port);
  EXPECT_EQ(ReceiveEnd(between.get()), -ECONNRESET);
  AwaitError(*forward_, "no server listens on port 8080");
  Serve(sandbox);
  const UniqueFd after = ConnectToLoopback(port);
  Send(after.get(), "h");
  EXPECT_EQ(Receive(after.get(), 100), "hello");
}

TEST_F(PortTest, ReachesNoUnixSocket) {
  const std::string sandbox = Serve();
  for (const char* path : {"/tmp/server.sock", "unix:/tmp/server.sock",
                           "@server", "127.0.0.1:8080", "8080/tmp"}) {
    const auto forward = Corral({"port-forward", sandbox, path});
    EXPECT_EQ(forward->Wait(), 2) << path;
    EXPECT_THAT(forward->ReadError(), HasSubstr("allowed is PORT")) << path;
  }
}

TEST_F(PortTest, GoesOnWhenTheServerIsKilled) {
  const uint16_t port = Forward(Serve());
  const UniqueFd before = ConnectToLoopback(port);
  Send(before.get(), "e1");
  EXPECT_EQ(Receive(before.get(), 1), "1");
  server_.Kill();
  EXPECT_EQ(ReceiveEnd(before.get()), -ECONNRESET);
  server_.Start();
  const UniqueFd after = ConnectToLoopback(port);
  Send(after.get(), "h");
  EXPECT_EQ(Receive(after.get(), 5), "hello");
}

TEST_F(PortTest, EndsConnectionsWithTheirServerAndWithTheSandbox) {
  const std::string sandbox = Serve();
  const uint16_t port = Forward(sandbox);
  const UniqueFd killed = ConnectToLoopback(port);
  Send(killed.get(), "e1");
  EXPECT_EQ(Receive(killed.get(), 1), "1");
  client_->DeleteSandbox(sandbox);
  EXPECT_LE(ReceiveEnd(killed.get()), 0);
  const UniqueFd late = ConnectToLoopback(port);
  EXPECT_LE(ReceiveEnd(late.get()), 0);
  EXPECT_EQ(forward_->Wait(), 125);
}

TEST_F(PortTest, ReachesNoOtherSandbox) {
  Serve();
  const uint16_t port = Forward(CreateSandbox());
  const UniqueFd socket = ConnectToLoopback(port);
  EXPECT_EQ(ReceiveEnd(socket.get()), -ECONNRESET);
}

TEST_F(PortTest, CannotBeReachedFromAnotherSandbox) {
  const std::string sandbox = Serve();
  const uint16_t port = Forward(sandbox);
  // Prints what comes from each port at both loopback addresses.
  const std::string script = absl::StrCat(R"(
import socket
for host in ('127.0.0.1', '::1'):
    for port in (8080, )",
                                          port, R"():
        try:
            c = socket.create_connection((host, port), 10)
            c.sendall(b'h')
            print(c.recv(100))
        except ConnectionRefusedError:
            print('refused')
)");
  const auto call =
      client_->Run(CreateSandbox(), MakeCommand({"python3", "-c", script}));
  EXPECT_EQ(call->bytes[corral::v1::STDOUT],
            "refused\nrefused\nrefused\nrefused\n");
  const UniqueFd socket = ConnectToLoopback(port);
  Send(socket.get(), "h");
  EXPECT_EQ(Receive(socket.get(), 100), "hello");
}

TEST_F(PortTest, IsPublishedByRunForTheTimeOfTheCommand) {
  const auto run =
      Corral({"run", "--publish", "8080:0", "--", "python3", "-c", kServer});
  const uint16_t port = LocalPort(*run);
  EXPECT_EQ(run->ReadLine(), "ready\n");
  const UniqueFd socket = ConnectToLoopback(port);
  Send(socket.get(), "h");
  EXPECT_EQ(Receive(socket.get(), 100), "hello");
  run->Signal(SIGTERM);
  EXPECT_EQ(run->Wait(), 128 + SIGTERM);
}

TEST_F(PortTest, RefusesALocalPortThatIsInUseBeforeTheCommandStarts) {
  const LoopbackListener taken = ListenOnLoopback();
  const auto run =
      Corral({"run", "--publish", absl::StrCat("8080:", taken.port), "--",
              "echo", "ran"});
  run->CloseInput();
  EXPECT_EQ(run->ReadOutput(), "");
  EXPECT_EQ(run->Wait(), 125);
  EXPECT_THAT(run->ReadError(),
              HasSubstr(absl::StrCat("127.0.0.1:", taken.port)));
}

}  // namespace
}  // namespace tests
