// corral allow, the program, against a fake server.

#include <string>
#include <vector>

#include "bridge/cli/commands/corral_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AllowTest : public ::testing::Test {
 protected:
  std::string Output(const std::vector<std::string>& arguments,
                     int expected = 0) {
    CorralProcess corral(server_.address(), arguments);
    std::string output = corral.ReadOutput();
    error_ = corral.ReadError();
    EXPECT_EQ(corral.Wait(), expected) << error_;
    return output;
  }

  tests::FakeServer server_{[](tests::FakeExecution&) {}};
  std::string error_;  // of the last Output()
};

TEST_F(AllowTest, SendsEachHost) {
  EXPECT_EQ(Output({"allow", "s1", "a.example", "*.b.example:80:443",
                    "c.example:22/tcp"}),
            "");
  ASSERT_THAT(server_.allowances(), SizeIs(1));
  EXPECT_EQ(server_.allowances()[0].ShortDebugString(),
            "name: \"tenants/default/sandboxes/s1\" "
            "egress_rules { host: \"a.example\" } "
            "egress_rules { host: \"*.b.example\" ports: 80 ports: 443 } "
            "egress_rules { host: \"c.example\" ports: 22 protocol: TCP }");
}

TEST_F(AllowTest, RefusesWhatIsNoHost) {
  Output({"allow", "s1", "a.example", "https://b.example"}, 2);
  EXPECT_THAT(error_, HasSubstr("corral: \"https://b.example\": allowed is a "
                                "host name"));
  Output({"allow", "s1/e1", "a.example"}, 2);
  EXPECT_THAT(error_, HasSubstr("sandbox \"s1/e1\": allowed is SANDBOX"));
  Output({"allow", "s1"}, 2);
  EXPECT_THAT(error_, HasSubstr("usage: corral allow"));
  EXPECT_THAT(server_.allowances(), IsEmpty());
}

TEST_F(AllowTest, HasHelp) {
  EXPECT_THAT(Output({"allow", "--help"}), HasSubstr("Usage: corral allow"));
}

}  // namespace
}  // namespace bridge
