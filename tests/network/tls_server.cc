#include "tests/network/tls_server.h"

#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509v3.h"

namespace tests {
namespace {

constexpr long kDay = 24 * 60 * 60;

void AddExtension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* const extension =
      ::X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  ::X509_add_ext(certificate, extension, -1);
  ::X509_EXTENSION_free(extension);
}

// A certificate without a signature.
X509* MakeCertificate(EVP_PKEY* key, const std::string& name, long serial,
                      bool expired) {
  X509* const certificate = ::X509_new();
  ::X509_set_version(certificate, 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate), serial);
  ::X509_gmtime_adj(::X509_getm_notBefore(certificate), -2 * kDay);
  ::X509_gmtime_adj(::X509_getm_notAfter(certificate),
                    expired ? -kDay : 30 * kDay);
  ::X509_set_pubkey(certificate, key);
  ::X509_NAME_add_entry_by_txt(
      ::X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

std::string ToPem(X509* certificate) {
  BIO* const bytes = ::BIO_new(::BIO_s_mem());
  ::PEM_write_bio_X509(bytes, certificate);
  char* data = nullptr;
  const long size = ::BIO_get_mem_data(bytes, &data);
  std::string pem(data, static_cast<size_t>(size));
  ::BIO_free(bytes);
  return pem;
}

// See SSL_CTX_set_alpn_select_cb(3).
int SelectProtocol(SSL* /*ssl*/, const unsigned char** name,
                   unsigned char* size, const unsigned char* offered,
                   unsigned offered_size, void* /*argument*/) {
  static constexpr unsigned char kKnown[] = "\x08http/1.1";
  unsigned char* selected = nullptr;
  const int result = ::SSL_select_next_proto(
      &selected, size, kKnown, sizeof(kKnown) - 1, offered, offered_size);
  *name = selected;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK
                                          : SSL_TLSEXT_ERR_NOACK;
}

// Gives the context a certificate, and returns that of its authority.
std::string Equip(SSL_CTX* context, const TlsServer::Options& options) {
  EVP_PKEY* const key = ::EVP_EC_gen("P-256");
  // OpenSSL finds authorities by their names.
  static std::atomic<int> count{0};
  X509* const authority =
      MakeCertificate(key, absl::StrCat("Test authority ", ++count), 1, false);
  ::X509_set_issuer_name(authority, ::X509_get_subject_name(authority));
  AddExtension(authority, NID_basic_constraints, "critical,CA:TRUE");
  ::X509_sign(authority, key, ::EVP_sha256());
  X509* const own = MakeCertificate(key, "server", 2, options.expired);
  ::X509_set_issuer_name(own, ::X509_get_subject_name(authority));
  AddExtension(own, NID_subject_alt_name, absl::StrCat("DNS:", options.name));
  ::X509_sign(own, key, ::EVP_sha256());
  ::SSL_CTX_use_certificate(context, own);
  ::SSL_CTX_use_PrivateKey(context, key);
  const std::string pem = ToPem(authority);
  ::X509_free(own);
  ::X509_free(authority);
  ::EVP_PKEY_free(key);
  return pem;
}

}  // namespace

std::string TlsConnection::ReadUntil(absl::string_view end) {
  std::string all;
  char byte;
  while (end.empty() || !absl::EndsWith(all, end)) {
    if (::SSL_read(ssl_, &byte, 1) != 1) {
      break;
    }
    all += byte;
  }
  return all;
}

bool TlsConnection::Send(absl::string_view bytes) {
  size_t sent;
  return ::SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent) == 1;
}

void TlsConnection::Cut() { ::shutdown(::SSL_get_fd(ssl_), SHUT_RDWR); }

bool TlsConnection::AwaitClose() const {
  char byte;
  return ::recv(::SSL_get_fd(ssl_), &byte, 1, 0) == 0;
}

std::string TlsConnection::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  ::SSL_get0_alpn_selected(ssl_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

TlsServer::TlsServer(Serve serve, const Options& options)
    : serve_(std::move(serve)), context_(::SSL_CTX_new(::TLS_server_method())) {
  // OpenSSL writes to sockets that the peer has closed.
  ::signal(SIGPIPE, SIG_IGN);
  authority_ = Equip(context_, options);
  ::SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
  ::SSL_CTX_set_max_proto_version(context_, options.most_version);
  ::SSL_CTX_set_alpn_select_cb(context_, SelectProtocol, nullptr);
  // Old versions of TLS need it.
  ::SSL_CTX_set_security_level(context_, 0);
  server_ =
      std::make_unique<UpstreamServer>([this](int socket) { Accept(socket); });
}

TlsServer::~TlsServer() {
  server_.reset();
  ::SSL_CTX_free(context_);
}

void TlsServer::Accept(int socket) {
  SSL* const ssl = ::SSL_new(context_);
  ::SSL_set_fd(ssl, socket);
  if (::SSL_accept(ssl) == 1) {
    TlsConnection connection(ssl);
    serve_(connection);
    ::SSL_shutdown(ssl);
  }
  ::SSL_free(ssl);
}

}  // namespace tests
