// corral, the program, on a connection that goes silent without being closed.
// The program under test notices that sooner than the one for people.

#include <signal.h>

#include <string>
#include <vector>

#include "bridge/cli/commands/corral_process.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/fakes/silent_proxy.h"

namespace bridge {
namespace {

using ::tests::FakeExecution;
using ::tests::FakeServer;
using ::tests::SilentProxy;

constexpr char kExecution[] = "tenants/default/sandboxes/s1/executions/e1";
constexpr char kProgram[] = "./bridge/cli/impatient_corral";

// A server behind a proxy. Its commands print, and go on when they get a
// signal, which the test sends past the proxy.
class SilenceTest : public ::testing::Test {
 protected:
  SilenceTest()
      : server_([](FakeExecution& command) {
          command.CatchSignals();
          command.Print("before ");
          command.WaitForSignal();
          command.Print("after");
          command.SetExit(4);
        }),
        proxy_(server_.address()) {}

  CorralProcess Corral(const std::vector<std::string>& arguments) {
    return CorralProcess(proxy_.address(), arguments, CorralProcess::Io::kPipes,
                         kProgram);
  }

  // s1/e1, as a detached command.
  void StartDetached() {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"create", "--no-workspace"},
                                               {"exec", "-d", "s1", "cmd"}}) {
      CorralProcess corral(server_.address(), arguments);
      ASSERT_EQ(corral.Wait(), 0) << corral.ReadError();
    }
  }

  void LetTheCommandGoOn() {
    server_.FindExecution(kExecution)->Signal(SIGUSR1);
  }

  FakeServer server_;
  SilentProxy proxy_;
};

TEST_F(SilenceTest, RunGoesOnThroughANewConnection) {
  CorralProcess corral = Corral({"run", "cmd"});
  EXPECT_EQ(corral.ReadUntil("before "), "before ");
  proxy_.SilenceConnections();
  LetTheCommandGoOn();
  EXPECT_EQ(corral.ReadOutput(), "after");
  EXPECT_EQ(corral.Wait(), 4);
}

TEST_F(SilenceTest, LogsGoOnThroughANewConnection) {
  StartDetached();
  CorralProcess corral = Corral({"logs", "-f", "s1/e1"});
  EXPECT_EQ(corral.ReadUntil("before "), "before ");
  proxy_.SilenceConnections();
  LetTheCommandGoOn();
  EXPECT_EQ(corral.ReadOutput(), "after");
  EXPECT_EQ(corral.Wait(), 0);
}

TEST_F(SilenceTest, WaitGoesOnThroughANewConnection) {
  StartDetached();
  CorralProcess corral = Corral({"wait", "s1/e1"});
  server_.WaitForWaits(1);
  proxy_.SilenceConnections();
  LetTheCommandGoOn();
  EXPECT_EQ(corral.Wait(), 4);
}

}  // namespace
}  // namespace bridge
