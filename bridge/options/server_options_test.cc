#include "bridge/options/server_options.h"

#include "bridge/options/option_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ServerOptionsTest, NameTheServerAndItsCertificates) {
  client::ConnectOptions options;
  OptionTable table("test", "", "");
  AddServerOptions(table, options);
  ASSERT_TRUE(table
                  .Parse({"--server", "host:1", "--tls-ca", "ca", "--tls-cert",
                          "cert", "--tls-key", "key"})
                  .ok());
  EXPECT_EQ(options.server, "host:1");
  EXPECT_EQ(options.tls_ca_file, "ca");
  EXPECT_EQ(options.tls_certificate_file, "cert");
  EXPECT_EQ(options.tls_key_file, "key");
}

TEST(ServerOptionsTest, HaveLongNamesOnly) {
  client::ConnectOptions options;
  OptionTable table("test", "", "");
  AddServerOptions(table, options);
  EXPECT_THAT(table.Help(), AllOf(HasSubstr("\n      --server ADDRESS "),
                                  HasSubstr("\n      --tls-ca FILE "),
                                  HasSubstr("\n      --tls-cert FILE "),
                                  HasSubstr("\n      --tls-key FILE ")));
}

}  // namespace
}  // namespace bridge
