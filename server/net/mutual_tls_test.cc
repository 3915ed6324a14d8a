#include "server/net/mutual_tls.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/net/certificate_files.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class MutualTlsTest : public ::testing::Test {
 protected:
  MutualTlsTest() {
    std::filesystem::create_directories(directory_);
    for (const char* name : {"ca", "server", "other"}) {
      MakeCertificateFiles(directory_, name);
    }
    std::ofstream(Path("text")) << "no PEM";
    tls_.set_client_ca_file(Path("ca.pem"));
    tls_.set_certificate_chain_file(Path("server.pem"));
    tls_.set_private_key_file(Path("server.key"));
  }
  ~MutualTlsTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& file) const {
    return absl::StrCat(directory_, "/", file);
  }
  void ExpectRefusal(const std::string& why) {
    EXPECT_THAT(MutualTls(tls_).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  }

  const std::string directory_ = absl::StrCat(
      ::testing::TempDir(), "/tls_",
      ::testing::UnitTest::GetInstance()->current_test_info()->name());
  corral::config::v1::Tls tls_;
};

TEST_F(MutualTlsTest, TakesACertificateWithItsKeyAndAnAuthority) {
  EXPECT_THAT(MutualTls(tls_).status(), IsOk());
}

TEST_F(MutualTlsTest, NamesAFileThatItCannotRead) {
  tls_.set_client_ca_file(Path("no_ca"));
  ExpectRefusal(Path("no_ca"));
  tls_.set_client_ca_file(Path("ca.pem"));
  tls_.set_private_key_file(Path("no_key"));
  ExpectRefusal(Path("no_key"));
  tls_.set_private_key_file(Path("server.key"));
  tls_.set_certificate_chain_file(Path("no_chain"));
  ExpectRefusal(Path("no_chain"));
}

TEST_F(MutualTlsTest, NamesAFileThatHoldsSomethingElse) {
  tls_.set_client_ca_file(Path("text"));
  ExpectRefusal(Path("text") + " holds no certificate");
  tls_.set_client_ca_file(Path("ca.pem"));
  tls_.set_private_key_file(Path("text"));
  ExpectRefusal(Path("text") + " holds no private key");
  tls_.set_private_key_file(Path("server.key"));
  tls_.set_certificate_chain_file(Path("text"));
  ExpectRefusal(Path("text") + " holds no certificate");
}

TEST_F(MutualTlsTest, RefusesAKeyOfAnotherCertificate) {
  tls_.set_private_key_file(Path("other.key"));
  ExpectRefusal("is not the key of the certificate in " + Path("server.pem"));
}

}  // namespace
}  // namespace server
