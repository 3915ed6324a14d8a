// A sandbox with the attacking program in its workspace.

#ifndef TESTS_ATTACK_ATTACK_TEST_H_
#define TESTS_ATTACK_ATTACK_TEST_H_

#include <string>

#include "gtest/gtest.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace tests {

// Puts tests/payloads:attack into a sandbox's workspace, which belongs to root
// or to the owner given.
void CopyAttack(const sandbox::TestSandbox& sandbox);

// The lines that the attack `assault` prints of signals that are refused.
inline constexpr char kRefusedSignals[] =
    "kill 0: EPERM\n"
    "stop: EPERM\n"
    "kill: EPERM\n"
    "tgkill: EPERM\n";

// Returns what `assault` prints when it may neither trace nor signal. The lines
// of its last two calls, which depend on the process, follow.
std::string RefusedAssault();

class AttackTest : public ::testing::Test {
 protected:
  // The sandbox's description; change it before Create().
  sandbox::wire::SandboxSpec& spec() { return sandbox_.spec(); }
  // Creates the sandbox. Every test calls it.
  void Create();

  // Runs an attack that ends by itself and returns what it printed.
  std::string Attack(const std::string& arguments);
  // Runs a shell line and returns what it printed.
  std::string Shell(const std::string& script);
  // The request for an attack that does not end by itself.
  sandbox::wire::StartExecution AttackRequest(
      const std::string& id, const std::string& arguments) const;
  // Expects that the sandbox still runs commands.
  void ExpectUsable();

  sandbox::TestSandbox sandbox_;
  sandbox::wire::ExecutionRecord last_;

 private:
  int runs_ = 0;
};

}  // namespace tests

#endif  // TESTS_ATTACK_ATTACK_TEST_H_
