// Services with credentials, from the command line to an upstream over TLS.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/network/name_server.h"
#include "tests/network/tls_server.h"
#include "tests/process.h"

namespace tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSecret[] = "sk-integration-0815";
constexpr char kUrl[] = "http://model.corral.internal/";

// A directory with a key and the certificate of an authority.
class Keys {
 public:
  explicit Keys(const std::string& authority) {
    char name[] = "/tmp/service_test.XXXXXX";
    path_ = ::mkdtemp(name);
    std::ofstream(path_ + "/key") << kSecret << "\n";
    std::ofstream(path_ + "/ca.pem") << authority;
  }
  ~Keys() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    names_.Set("api.example", {"127.0.0.1"});
    server_.Start();
  }
  void TearDown() override { server_.End(); }

  // Runs corral and returns what it wrote.
  std::string Corral(std::vector<std::string> arguments, int status = 0) {
    arguments.insert(arguments.begin(), "./corral");
    Process process(std::move(arguments),
                    {absl::StrCat("CORRAL_SERVER=", server_.address())});
    process.CloseInput();
    std::string output = process.ReadOutput();
    EXPECT_EQ(process.Wait(), status) << process.ReadError();
    error_ = process.ReadError();
    return std::string(absl::StripSuffix(output, "\n"));
  }
  // The service `name` with these fields for its value.
  std::string Service(const std::string& name, const std::string& value) {
    return absl::StrCat("services { name: '", name,
                        "' upstream: 'api.example:", upstream_.port(),
                        "' header: 'Authorization' value_prefix: 'Bearer ' ",
                        value, " ca_file: '", keys_.path(), "/ca.pem' }\n");
  }

  NameServer names_;
  // Answers with the value of the header, backwards.
  TlsServer upstream_{[](TlsConnection& connection) {
    const std::string head = connection.ReadUntil("\r\n\r\n");
    const std::string field = "Authorization: ";
    const size_t begin = head.find(field) + field.size();
    const std::string value =
        head.substr(begin, head.find("\r\n", begin) - begin);
    connection.Send(
        absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", value.size(),
                     "\r\n\r\n", std::string(value.rbegin(), value.rend())));
  }};
  Keys keys_{upstream_.authority()};
  Corrald server_{absl::StrCat(
      "drain_seconds: 0\n"
      "egress { private_networks: '127.0.0.1' name_servers: '",
      names_.address(), "'\n",
      Service("model", absl::StrCat("value_file: '", keys_.path(), "/key'")),
      Service("forge", "value_command: '/bin/echo' value_command: 'token'"),
      Service("broken", "value_file: '/no/such/key'"), "}\n")};
  std::string error_;
};

TEST_F(ServiceTest, GivesACommandTheUseOfACredential) {
  EXPECT_EQ(Corral({"run", "--no-workspace", "--service", "model", "--service",
                    "forge", "--", "curl", "-s", kUrl,
                    "http://forge.corral.internal/"}),
            "5180-noitargetni-ks reraeBnekot reraeB");
}

TEST_F(ServiceTest, OffersOnlyTheServicesThatASandboxNames) {
  // 6: curl found no such host.
  Corral(
      {"run", "--no-workspace", "--service", "forge", "--", "curl", "-s", kUrl},
      6);
  Corral({"run", "--no-workspace", "--service", "other", "--", "true"}, 2);
  EXPECT_THAT(error_, AllOf(HasSubstr("egress_services[0]"),
                            HasSubstr("model, forge, broken")));
  EXPECT_THAT(Corral({"info"}), HasSubstr("model, forge, broken"));
}

TEST_F(ServiceTest, RefusesAServiceWhoseFileTheSandboxSees) {
  Corral({"run", "--mount", keys_.path(), "--no-workspace", "--service",
          "model", "--", "true"},
         2);
  EXPECT_THAT(error_, HasSubstr("in a directory of the sandbox"));
}

TEST_F(ServiceTest, SaysWhatFailedWithoutNamingFiles) {
  EXPECT_EQ(Corral({"run", "--no-workspace", "--service", "broken", "--",
                    "curl", "-s", "http://broken.corral.internal/"}),
            "Corral: service broken: the server cannot read its credential; "
            "the server's log says why");
}

TEST_F(ServiceTest, ServesASandboxThatOutlivesTheServer) {
  const std::string sandbox =
      Corral({"create", "--no-workspace", "--service", "model"});
  EXPECT_EQ(Corral({"exec", sandbox, "--", "curl", "-s", kUrl}),
            "5180-noitargetni-ks reraeB");
  server_.Kill();
  server_.Start();
  EXPECT_EQ(Corral({"exec", sandbox, "--", "curl", "-s", kUrl}),
            "5180-noitargetni-ks reraeB");
  EXPECT_THAT(Corral({"logs", "--network", sandbox}),
              HasSubstr("model.corral.internal:80 (127.0.0.1): closed"));
  Corral({"rm", sandbox});
}

}  // namespace
}  // namespace tests
