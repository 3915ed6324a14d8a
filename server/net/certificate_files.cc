#include "server/net/certificate_files.h"

#include <openssl/asn1.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace server {

void MakeCertificateFiles(const std::string& directory,
                          const std::string& name) {
  const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key(
      EVP_EC_gen("P-256"), &::EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&::X509_free)> owner(::X509_new(),
                                                            &::X509_free);
  X509* const certificate = owner.get();
  X509_NAME* subject = ::X509_get_subject_name(certificate);
  ::X509_NAME_add_entry_by_txt(
      subject, "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  ::X509_set_issuer_name(certificate, subject);
  ::X509_set_pubkey(certificate, key.get());
  ::X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  ::X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  EXPECT_GT(::X509_sign(certificate, key.get(), ::EVP_sha256()), 0);
  const std::string path = absl::StrCat(directory, "/", name);
  std::FILE* file = std::fopen((path + ".pem").c_str(), "we");
  EXPECT_EQ(::PEM_write_X509(file, certificate), 1);
  std::fclose(file);
  file = std::fopen((path + ".key").c_str(), "we");
  EXPECT_EQ(::PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0,
                                   nullptr, nullptr),
            1);
  std::fclose(file);
}

}  // namespace server
