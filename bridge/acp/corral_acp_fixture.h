// The program corral-acp between a client on its pipes and an agent. The agent
// `cat` repeats each line of the client as if it were its own.

#ifndef BRIDGE_ACP_CORRAL_ACP_FIXTURE_H_
#define BRIDGE_ACP_CORRAL_ACP_FIXTURE_H_

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/process.h"

namespace bridge {

inline constexpr char kProgram[] = "bridge/acp/corral_acp_under_test";

class CorralAcp : public tests::Process {
 public:
  explicit CorralAcp(std::vector<std::string> arguments)
      : Process(WithProgram(std::move(arguments))) {}

 private:
  static std::vector<std::string> WithProgram(
      std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), kProgram);
    return arguments;
  }
};

// A command that runs until it is killed.
inline void Hang(tests::FakeExecution& command) { command.Hang(); }

// Opens session "s" and has the agent, which repeats each line, create a
// terminal in it.
inline void RequestTerminal(CorralAcp& program) {
  const std::string opening[] = {
      R"({"id":"open","method":"session/new","params":{"cwd":"/w"}})"
      "\n",
      R"({"id":"open","result":{"sessionId":"s"}})"
      "\n"};
  for (const std::string& line : opening) {
    program.Write(line);
    EXPECT_EQ(program.ReadLine(), line);
  }
  program.Write(
      R"({"jsonrpc":"2.0","id":"x","method":"terminal/create","params":)"
      R"({"sessionId":"s","command":"hang"}})"
      "\n");
}

// Returns the answer, which comes back as well.
inline std::string CreateTerminal(CorralAcp& program) {
  RequestTerminal(program);
  return program.ReadLine();
}

}  // namespace bridge

#endif  // BRIDGE_ACP_CORRAL_ACP_FIXTURE_H_
