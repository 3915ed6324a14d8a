// corral and corrald on two sides of a TCP connection that goes silent without
// being closed.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/certificates.h"
#include "tests/integration/corrald.h"
#include "tests/integration/silent_network.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kProgram[] = "./corral";
// Notices a silent connection within a second, and never gives up.
constexpr char kImpatientProgram[] = "./bridge/cli/impatient_corral";

// Prints 0, 1, 2, ... until the workspace has a file "stop".
constexpr char kCount[] =
    "i=0; while [ ! -e stop ]; do echo $i; i=$((i+1)); sleep 0.02; done; "
    "exit 4";
constexpr char kAwaitEnd[] = "while [ ! -e end ]; do sleep 0.02; done; exit 5";

class TcpSilenceTest : public ::testing::Test {
 protected:
  TcpSilenceTest()
      : certificates_(server_.directory()),
        address_(absl::StrCat(SilentNetwork::kServerIp, ":7878")) {}

  void SetUp() override {
    if (!Certificates::CanMake()) {
      GTEST_SKIP() << "there is no openssl command to make certificates with";
    }
    if (!network_.failure().empty()) {
      GTEST_SKIP() << network_.failure();
    }
    certificates_.MakeAuthority("ca");
    certificates_.MakeCertificate("server", "ca", SilentNetwork::kServerIp);
    certificates_.MakeCertificate("client", "ca", SilentNetwork::kClientIp);
    WriteFile(server_.config_file(),
              absl::StrCat(certificates_.ServerConfiguration(),
                           " workspace_roots: \"", server_.directory(),
                           "\" drain_seconds: 0"));
    server_.Launch({"--config", server_.config_file(), "--listen", address_,
                    "--state-dir", server_.state_directory()},
                   network_.OnServerSide());
    while (server_.IsRunning() && Corral(kProgram, {"info"})->Wait() != 0) {
    }
    ASSERT_TRUE(server_.IsRunning()) << server_.log();
  }

  void TearDown() override {
    if (server_.IsRunning()) {
      server_.End();
    }
  }

  // Starts corral on the client's side.
  std::unique_ptr<Process> Corral(const std::string& program,
                                  const std::vector<std::string>& arguments) {
    std::vector<std::string> command = network_.OnClientSide();
    command.insert(command.end(),
                   {program, "--server", address_, "--tls-ca",
                    certificates_.Path("ca.pem"), "--tls-cert",
                    certificates_.Path("client.pem"), "--tls-key",
                    certificates_.Path("client.key")});
    command.insert(command.end(), arguments.begin(), arguments.end());
    // A handshake of TLS that the end of the program interrupts leaves the
    // random numbers of gRPC's thread, which are no leak of Corral's.
    auto process = std::make_unique<Process>(
        std::move(command),
        std::vector<std::string>{"ASAN_OPTIONS=detect_leaks=0"});
    process->CloseInput();
    return process;
  }

  std::unique_ptr<Process> Run(const std::string& program,
                               const std::string& script) {
    return Corral(program, {"run", "--workspace", server_.workspace(), "--",
                            "sh", "-c", script});
  }

  // Waits for a command that was started before.
  std::unique_ptr<Process> Wait(const std::string& program,
                                const std::string& script) {
    const auto start =
        Corral(kProgram, {"run", "--detach", "--workspace", server_.workspace(),
                          "--", "sh", "-c", script});
    std::string name = start->ReadLine();
    EXPECT_EQ(start->Wait(), 0) << start->ReadError();
    name.pop_back();  // the newline
    return Corral(program, {"wait", name});
  }

  static void ExpectFailure(Process* corral,
                            const ::testing::Matcher<std::string>& error) {
    const int status = corral->Wait();
    const std::string text = corral->ReadError();
    EXPECT_EQ(status, 125) << text;
    EXPECT_THAT(text, error);
  }

  void Touch(const std::string& file) {
    WriteFile(absl::StrCat(server_.workspace(), "/", file), "");
  }

  Corrald server_;
  Certificates certificates_;
  SilentNetwork network_;
  const std::string address_;
};

TEST_F(TcpSilenceTest, ClientsGoOnWhenTheNetworkIsBack) {
  const auto run = Run(kImpatientProgram, kCount);
  const auto wait = Wait(kImpatientProgram, kAwaitEnd);
  int next = 0;
  for (; next < 20; ++next) {
    ASSERT_EQ(run->ReadLine(), absl::StrCat(next, "\n")) << run->ReadError();
  }
  network_.Silence();
  // Both have given up their connections and try to make new ones.
  network_.AwaitConnecting(2);
  // One command ends during the silence, the other one after it.
  Touch("end");
  network_.Restore();
  EXPECT_EQ(wait->Wait(), 5) << wait->ReadError();
  for (const int end = next + 100; next < end; ++next) {
    ASSERT_EQ(run->ReadLine(), absl::StrCat(next, "\n")) << run->ReadError();
  }
  Touch("stop");
  std::string line;
  while (!(line = run->ReadLine()).empty()) {
    ASSERT_EQ(line, absl::StrCat(next++, "\n"));
  }
  EXPECT_EQ(run->Wait(), 4) << run->ReadError();
}

// Uses the times of real clients: a client notices the silence after 30 s at
// most, and gives up after 30 s more.
TEST_F(TcpSilenceTest, ClientsReportAServerThatStaysSilent) {
  const auto run = Run(kProgram, kCount);
  const auto wait = Wait(kProgram, kAwaitEnd);
  ASSERT_EQ(run->ReadLine(), "0\n") << run->ReadError();
  network_.AwaitConnected(2);
  network_.Silence();
  run->ReadOutput();
  const std::string gone =
      absl::StrCat("the server at ", address_, " has been gone for 30s");
  ExpectFailure(run.get(), HasSubstr(gone));
  // The silence may have come between the TCP connection and the first answer.
  ExpectFailure(wait.get(),
                AnyOf(HasSubstr(gone),
                      HasSubstr(absl::StrCat("no server at ", address_))));
  network_.Restore();
}

}  // namespace
}  // namespace tests
