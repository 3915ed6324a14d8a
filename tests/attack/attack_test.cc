#include "tests/attack/attack_test.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/status_matchers.h"

namespace tests {

void CopyAttack(const sandbox::TestSandbox& sandbox) {
  std::error_code error;
  std::filesystem::copy("tests/payloads/attack",
                        sandbox.workspace() + "/attack", error);
  ASSERT_FALSE(error) << error.message();
}

std::string RefusedAssault() {
  return absl::StrCat(
      "seize: EPERM\n"
      "attach: EPERM\n"
      "readv: EPERM\n"
      "writev: EPERM\n",
      kRefusedSignals, "pidfd kill: EPERM\n");
}

void AttackTest::Create() {
  CopyAttack(sandbox_);
  ASSERT_THAT(sandbox_.Create(), IsOk());
}

sandbox::wire::StartExecution AttackTest::AttackRequest(
    const std::string& id, const std::string& arguments) const {
  return sandbox_.Shell(id, absl::StrCat("exec ./attack ", arguments));
}

std::string AttackTest::Attack(const std::string& arguments) {
  return Shell(absl::StrCat("exec ./attack ", arguments));
}

std::string AttackTest::Shell(const std::string& script) {
  const std::string id = absl::StrCat("e", ++runs_);
  last_ = sandbox_.Run(sandbox_.Shell(id, script));
  return absl::StrCat(sandbox_.Output(id, "stdout"),
                      sandbox_.Output(id, "stderr"));
}

void AttackTest::ExpectUsable() { EXPECT_EQ(Shell("echo usable"), "usable\n"); }

}  // namespace tests
