// corral port-forward, the program, with a server and a local program that are
// the test.

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_port_server.h"
#include "tests/network/loopback.h"

namespace bridge {
namespace {

using sandbox::UniqueFd;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::tests::FakePortServer;

class PortForwardTest : public ::testing::Test {
 protected:
  CorralProcess Corral(const std::vector<std::string>& arguments) {
    return CorralProcess(server_.address(), arguments);
  }

  FakePortServer server_;
};

// The program on a terminal, which shows what it says at once.
class Forward {
 public:
  explicit Forward(const FakePortServer& server,
                   const std::string& program = "")
      : corral_(server.address(), {"port-forward", "box", "8080:0"},
                CorralProcess::Io::kTerminal, program) {
    EXPECT_EQ(corral_.ReadUntil("127.0.0.1:"),
              "corral: port 8080 of the sandbox is at 127.0.0.1:");
    EXPECT_TRUE(absl::SimpleAtoi(corral_.ReadUntil("\n"), &local_));
  }

  UniqueFd Connect() const {
    return tests::ConnectToLoopback(static_cast<uint16_t>(local_));
  }
  CorralProcess& corral() { return corral_; }

 private:
  CorralProcess corral_;
  uint32_t local_ = 0;
};

TEST_F(PortForwardTest, ConnectsALocalPortUntilItIsInterrupted) {
  Forward forward(server_);
  CorralProcess& corral = forward.corral();
  const UniqueFd socket = forward.Connect();
  const auto call = server_.Accept();
  EXPECT_EQ(call->opened().name(), FakePortServer::kSandbox);
  EXPECT_EQ(call->opened().port(), 8080);
  call->Connect();
  call->Send("hello");
  EXPECT_EQ(tests::Receive(socket.get(), 5), "hello");
  corral.Signal(SIGINT);
  EXPECT_EQ(tests::ReceiveEnd(socket.get()), -ECONNRESET);
  EXPECT_EQ(corral.Wait(), 0);
}

TEST_F(PortForwardTest, EndsWithTheSandbox) {
  Forward forward(server_);
  CorralProcess& corral = forward.corral();
  const UniqueFd socket = forward.Connect();
  server_.Accept()->Finish({grpc::StatusCode::NOT_FOUND, "no such sandbox"});
  corral.ReadUntil("corral: port 8080: no such sandbox");
  EXPECT_EQ(corral.Wait(), 125);
}

TEST_F(PortForwardTest, GoesOnWhenNobodyListensInside) {
  Forward forward(server_);
  CorralProcess& corral = forward.corral();
  const UniqueFd refused = forward.Connect();
  server_.Accept()->Finish(
      {grpc::StatusCode::FAILED_PRECONDITION, "no server listens"});
  EXPECT_EQ(tests::ReceiveEnd(refused.get()), -ECONNRESET);
  const UniqueFd socket = forward.Connect();
  server_.Accept()->Connect();
  corral.Signal(SIGTERM);
  corral.ReadUntil("corral: port 8080: no server listens");
  EXPECT_EQ(corral.Wait(), 0);
}

TEST_F(PortForwardTest, FindsAServerAgainThatWasGone) {
  Forward forward(server_);
  CorralProcess& corral = forward.corral();
  const UniqueFd before = forward.Connect();
  const auto open = server_.Accept();
  open->Connect();
  open->Send("x");
  EXPECT_EQ(tests::Receive(before.get(), 1), "x");
  server_.Stop();
  EXPECT_EQ(tests::ReceiveEnd(before.get()), -ECONNRESET);
  const UniqueFd after = forward.Connect();
  server_.Start();
  const auto call = server_.Accept();
  call->Connect();
  call->Send("hello");
  EXPECT_EQ(tests::Receive(after.get(), 5), "hello");
  corral.Signal(SIGHUP);
  EXPECT_EQ(corral.Wait(), 0);
}

// Waits until a program looks at `address` whether a server listens there: such
// a connection ends without a byte.
UniqueFd AwaitSearch(const std::string& address) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const std::string path = address.substr(std::strlen("unix:"));
  std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
  ::unlink(path.c_str());
  EXPECT_EQ(
      ::bind(listener.get(), reinterpret_cast<sockaddr*>(&name), sizeof name),
      0);
  EXPECT_EQ(::listen(listener.get(), 64), 0);
  char byte = 0;
  ssize_t size = -1;
  do {
    const UniqueFd connection(::accept(listener.get(), nullptr, nullptr));
    size = ::read(connection.get(), &byte, 1);
  } while (size != 0);
  return listener;
}

TEST_F(PortForwardTest, IsInterruptedWhileItLooksForAServerThatIsGone) {
  // It would never give up by itself.
  Forward forward(server_, "./bridge/cli/impatient_corral");
  CorralProcess& corral = forward.corral();
  server_.Stop();
  const UniqueFd socket = forward.Connect();
  const UniqueFd listener = AwaitSearch(server_.address());
  corral.Signal(SIGINT);
  EXPECT_EQ(corral.Wait(), 0);
}

TEST_F(PortForwardTest, RefusesASandboxThatIsNotThereAtOnce) {
  CorralProcess corral = Corral({"port-forward", "none", "8080:0"});
  EXPECT_THAT(corral.ReadError(), HasSubstr("none"));
  EXPECT_EQ(corral.Wait(), 125);
}

TEST_F(PortForwardTest, SaysThatALocalPortIsInUse) {
  const tests::LoopbackListener taken = tests::ListenOnLoopback();
  CorralProcess corral =
      Corral({"port-forward", "box", absl::StrCat("8080:", taken.port)});
  EXPECT_THAT(corral.ReadError(), HasSubstr("choose another port"));
  EXPECT_EQ(corral.Wait(), 125);
}

TEST_F(PortForwardTest, SaysWhatIsAllowed) {
  CorralProcess bad = Corral({"port-forward", "box", "8080:0", "x"});
  EXPECT_THAT(bad.ReadError(), AllOf(HasSubstr("\"x\""), HasSubstr("PORT")));
  EXPECT_EQ(bad.Wait(), 2);
  CorralProcess none = Corral({"port-forward", "box"});
  EXPECT_EQ(none.Wait(), 2);
  CorralProcess help = Corral({"port-forward", "--help"});
  EXPECT_THAT(help.ReadOutput(), HasSubstr("PORT[:LOCAL]"));
  EXPECT_EQ(help.Wait(), 0);
}

}  // namespace
}  // namespace bridge
