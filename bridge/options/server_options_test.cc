#include "bridge/options/server_options.h"

#include "bridge/options/option_table.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

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

}  // namespace
}  // namespace bridge
