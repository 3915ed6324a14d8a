// The life and the privileges of the program. What it does is in proxy_test.

#include "sandbox/egress/egress_process.h"

#include <sys/wait.h>

#include "gtest/gtest.h"
#include "sandbox/egress/egress_fixture.h"

namespace egress {
namespace {

using EgressProcessTest = EgressTest;

TEST_F(EgressProcessTest, EndsWhenItsSupervisorCloses) {
  Allow("a.example", 443);
  Start();
  EXPECT_EQ(Lookup("a.example"), "198.18.0.1");
  process_.socket.Reset();
  int status = 0;
  EXPECT_EQ(::waitpid(process_.pid, &status, 0), process_.pid);
  EXPECT_EQ(status, 0);
  process_.pid = 0;
}

TEST_F(EgressProcessTest, EndsWhenItsStartIsWrong) {
  start_.mutable_policy()->add_private_networks("nonsense");
  Start();
  int status = 0;
  EXPECT_EQ(::waitpid(process_.pid, &status, 0), process_.pid);
  EXPECT_EQ(status, 1 << 8);
  process_.pid = 0;
}

TEST_F(EgressProcessTest, HasNoPrivilegesAndAFilter) {
  Allow("a.example", 443);
  Start();
  Lookup("a.example");
  EXPECT_EQ(Status("Uid"), "65533\t65533\t65533\t65533");
  EXPECT_EQ(Status("Groups"), " ");
  EXPECT_EQ(Status("CapPrm"), "0000000000000000");
  EXPECT_EQ(Status("NoNewPrivs"), "1");
  EXPECT_EQ(Status("Seccomp"), "2");
  EXPECT_EQ(Status("Name"), "corral-egress");
}

}  // namespace
}  // namespace egress
