// A sandbox of the user, or of the container, that unprivileged_process.h makes
// the tests run in.

#ifndef TESTS_SUPERVISOR_UNPRIVILEGED_FIXTURE_H_
#define TESTS_SUPERVISOR_UNPRIVILEGED_FIXTURE_H_

#include <sys/wait.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "tests/supervisor/sandbox_fixture.h"
#include "tests/supervisor/unprivileged_process.h"

namespace sandbox {

class UnprivilegedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!tests::WhySkipped().empty()) {
      GTEST_SKIP() << tests::WhySkipped();
    }
    sandbox_.emplace();
  }

  // Runs a shell line and returns what it printed.
  std::string Shell(const std::string& script) {
    const std::string id = absl::StrCat("e", ++runs_);
    last_ = sandbox_->Run(sandbox_->Shell(id, script));
    return absl::StrCat(sandbox_->Output(id, "stdout"),
                        sandbox_->Output(id, "stderr"));
  }
  int exit_code() const { return WEXITSTATUS(last_.exit().wait_status()); }

  std::optional<TestSandbox> sandbox_;
  // How the last command ended.
  wire::ExecutionRecord last_;

 private:
  int runs_ = 0;
};

}  // namespace sandbox

#endif  // TESTS_SUPERVISOR_UNPRIVILEGED_FIXTURE_H_
