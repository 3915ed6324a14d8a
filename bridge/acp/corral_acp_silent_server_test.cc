// corral-acp ends though a server does not answer.

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "bridge/acp/corral_acp_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_server.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;

// Ends a bridge while a server that listens does not answer.
TEST(CorralAcpTest, EndsWhileTheServerDoesNotAnswer) {
  tests::FakeServer server(Hang);
  for (const bool by_signal : {false, true}) {
    const std::string audit = absl::StrCat(
        ::testing::TempDir(), by_signal ? "/audit_signal" : "/audit_input");
    CorralAcp program(
        {"--server", server.address(), "--audit", audit, "--", "cat"});
    EXPECT_THAT(CreateTerminal(program), HasSubstr("terminalId"));
    server.StallDeletions(1);
    // Longer than the bridge may need, shorter than its calls last.
    tests::Process patience({"sleep", "12"});
    if (by_signal) {
      program.Signal(SIGTERM);
    } else {
      program.CloseInput();
    }
    EXPECT_EQ(program.Wait(), 0);
    EXPECT_TRUE(patience.IsRunning());
    EXPECT_THAT(tests::ReadFile(audit), HasSubstr("\"event\":\"end\""));
  }
}

TEST(CorralAcpTest, EndsWhileItConnectsToAServerThatDoesNotAnswer) {
  char directory[] = "/tmp/corral_acp.XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  sockaddr_un address = {AF_UNIX, ""};
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s/s", directory);
  const sandbox::UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof address),
            0);
  ASSERT_EQ(::listen(listener.get(), 10), 0);
  CorralAcp program(
      {"--server", absl::StrCat("unix:", address.sun_path), "--", "cat"});
  RequestTerminal(program);
  // The bridge connects now.
  const sandbox::UniqueFd connection(
      ::accept(listener.get(), nullptr, nullptr));
  tests::Process patience({"sleep", "10"});
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_TRUE(patience.IsRunning());
  ::unlink(address.sun_path);
  ::rmdir(directory);
}

}  // namespace
}  // namespace bridge
