#include "bridge/gate/gate_options.h"

#include <string>

#include "bridge/options/option_table.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

class GateOptionsTest : public ::testing::Test {
 protected:
  GateOptionsTest() { AddGateOptions(table_, rules_, audit_); }

  const std::string directory_ = ::testing::TempDir();
  GateRules rules_;
  AuditLog audit_;
  OptionTable table_{"test", "", ""};
};

TEST_F(GateOptionsTest, ReadRulesAndOpenTheAuditLog) {
  tests::WriteFile(directory_ + "/gate", "otherwise: DENY");
  ASSERT_TRUE(table_
                  .Parse({"--gate", directory_ + "/gate", "--audit",
                          directory_ + "/audit"})
                  .ok());
  EXPECT_EQ(rules_.file(), directory_ + "/gate");
  EXPECT_EQ(rules_.Rule({"s", {"ls"}, {}, "/"}).decision,
            corral::config::v1::DENY);
  EXPECT_EQ(audit_.path(), directory_ + "/audit");
}

TEST_F(GateOptionsTest, RefuseFilesThatCannotBeUsed) {
  EXPECT_FALSE(table_.Parse({"--gate", "/nonexistent/gate"}).ok());
  EXPECT_FALSE(table_.Parse({"--audit", "/nonexistent/audit"}).ok());
}

}  // namespace
}  // namespace bridge
