#include "server/net/mutual_tls.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
      MakeCertificate(name);
    }
    std::ofstream(Path("text")) << "no PEM";
    tls_.set_client_ca_file(Path("ca.pem"));
    tls_.set_certificate_chain_file(Path("server.pem"));
    tls_.set_private_key_file(Path("server.key"));
  }
  ~MutualTlsTest() override { std::filesystem::remove_all(directory_); }

  // Makes NAME.pem, which NAME.key signed.
  void MakeCertificate(const std::string& name) const {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = ::X509_new();
    ::X509_set_pubkey(certificate, key);
    ::X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    ::X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    EXPECT_GT(::X509_sign(certificate, key, ::EVP_sha256()), 0);
    std::FILE* file = std::fopen(Path(name + ".pem").c_str(), "we");
    EXPECT_EQ(::PEM_write_X509(file, certificate), 1);
    std::fclose(file);
    file = std::fopen(Path(name + ".key").c_str(), "we");
    EXPECT_EQ(::PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr,
                                     nullptr),
              1);
    std::fclose(file);
    ::X509_free(certificate);
    ::EVP_PKEY_free(key);
  }
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
