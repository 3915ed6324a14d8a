// A sandbox with the attacking program in its workspace.

#ifndef TESTS_ATTACK_ATTACK_TEST_H_
#define TESTS_ATTACK_ATTACK_TEST_H_

#include <string>

#include "gtest/gtest.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace tests {

// Puts tests/payloads:attack into a sandbox's workspace, for root or whoever
// owns it.
void CopyAttack(const sandbox::TestSandbox& sandbox);

class AttackTest : public ::testing::Test {
 protected:
  // Before a sandbox is made with other limits.
  sandbox::wire::SandboxSpec& spec() { return sandbox_.spec(); }
  // Every test calls it.
  void Create();

  // Runs the attack, which ends by itself, and returns what it printed.
  std::string Attack(const std::string& arguments);
  // The same with a shell line.
  std::string Shell(const std::string& script);
  // The request of an attack, for those that do not end.
  sandbox::wire::StartExecution AttackRequest(
      const std::string& id, const std::string& arguments) const;
  // The sandbox still runs commands.
  void ExpectUsable();

  sandbox::TestSandbox sandbox_;
  sandbox::wire::ExecutionRecord last_;

 private:
  int runs_ = 0;
};

}  // namespace tests

#endif  // TESTS_ATTACK_ATTACK_TEST_H_
