// The tests of attached commands share a program and commands.

#ifndef BRIDGE_CLI_COMMANDS_ATTACHED_COMMAND_FIXTURE_H_
#define BRIDGE_CLI_COMMANDS_ATTACHED_COMMAND_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "bridge/client/connection_fixture.h"
#include "corral/v1/execution.pb.h"
#include "tests/fakes/fake_server.h"

namespace bridge {

inline constexpr char kSandbox[] = "tenants/default/sandboxes/s1";
inline constexpr char kExecution[] =
    "tenants/default/sandboxes/s1/executions/e1";

// attached_command_under_test, which stands for corral.
class Program : public CorralProcess {
 public:
  Program(const tests::FakeServer& server,
          const std::vector<std::string>& arguments, Io io = Io::kPipes)
      : CorralProcess(server.address(), arguments, io,
                      "./bridge/cli/attach/attached_command_under_test") {}

  // Returns the exit status, and all that corral wrote.
  std::string Outcome() {
    const std::string output = ReadOutput();
    const std::string error = ReadError();
    return absl::StrCat(Wait(), "|", output, "|", error);
  }
};

// Starts s1/e1, which the test does not follow.
inline void Start(const tests::FakeServer& server,
                  const corral::v1::Command& command) {
  client::Start(*client::Connect(server), "cmd", command);
}

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_ATTACHED_COMMAND_FIXTURE_H_
