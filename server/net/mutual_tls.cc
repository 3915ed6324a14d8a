#include "server/net/mutual_tls.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "corral/config/v1/server_config.pb.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/server_credentials.h"
#include "sandbox/base/status_macros.h"

namespace server {
namespace {

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bytes = std::unique_ptr<BIO, Free<::BIO_free>>;
using Certificate = std::unique_ptr<X509, Free<::X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<::EVP_PKEY_free>>;

absl::Status Refuse(absl::string_view path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("tls: ", path, " ", why));
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return absl::InvalidArgumentError(absl::StrCat("tls: cannot read ", path));
  }
  return text.str();
}

// Returns null if `pem` holds none.
template <typename Object, typename Read>
Object Parse(const std::string& pem, Read read) {
  const Bytes bytes(
      ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // An empty passphrase: OpenSSL would otherwise ask for one on the terminal.
  static char empty[] = "";
  return Object(read(bytes.get(), nullptr, nullptr, empty));
}

// Without this check gRPC would start and refuse every connection.
absl::Status CheckFiles(const corral::config::v1::Tls& tls,
                        const std::string& chain,
                        const std::string& private_key,
                        const std::string& authorities) {
  const auto certificate = Parse<Certificate>(chain, ::PEM_read_bio_X509);
  if (certificate == nullptr) {
    return Refuse(tls.certificate_chain_file(), "holds no certificate");
  }
  const auto key = Parse<Key>(private_key, ::PEM_read_bio_PrivateKey);
  if (key == nullptr) {
    return Refuse(tls.private_key_file(), "holds no private key");
  }
  if (::X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Refuse(tls.private_key_file(),
                  absl::StrCat("is not the key of the certificate in ",
                               tls.certificate_chain_file()));
  }
  if (Parse<Certificate>(authorities, ::PEM_read_bio_X509) == nullptr) {
    return Refuse(tls.client_ca_file(), "holds no certificate");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MutualTls(
    const corral::config::v1::Tls& tls) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ASSIGN_OR_RETURN(options.pem_root_certs, ReadFile(tls.client_ca_file()));
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  ASSIGN_OR_RETURN(pair.private_key, ReadFile(tls.private_key_file()));
  ASSIGN_OR_RETURN(pair.cert_chain, ReadFile(tls.certificate_chain_file()));
  RETURN_IF_ERROR(CheckFiles(tls, pair.cert_chain, pair.private_key,
                             options.pem_root_certs));
  options.pem_key_cert_pairs.push_back(std::move(pair));
  return grpc::SslServerCredentials(options);
}

}  // namespace server
