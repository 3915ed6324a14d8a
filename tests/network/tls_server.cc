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

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bytes = std::unique_ptr<BIO, Free<::BIO_free>>;
using Certificate = std::unique_ptr<X509, Free<::X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<::X509_EXTENSION_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<::EVP_PKEY_free>>;
using Ssl = std::unique_ptr<SSL, Free<::SSL_free>>;

constexpr long kDay = 24 * 60 * 60;

void AddExtension(X509* certificate, int kind, const std::string& value) {
  const Extension extension(
      ::X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
  ::X509_add_ext(certificate, extension.get(), -1);
}

// A certificate without a signature.
Certificate MakeCertificate(EVP_PKEY* key, const std::string& name, long serial,
                            bool expired) {
  Certificate owner(::X509_new());
  X509* const certificate = owner.get();
  ::X509_set_version(certificate, 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate), serial);
  ::X509_gmtime_adj(::X509_getm_notBefore(certificate), -2 * kDay);
  ::X509_gmtime_adj(::X509_getm_notAfter(certificate),
                    expired ? -kDay : 30 * kDay);
  ::X509_set_pubkey(certificate, key);
  ::X509_NAME_add_entry_by_txt(
      ::X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return owner;
}

std::string ToPem(X509* certificate) {
  const Bytes bytes(::BIO_new(::BIO_s_mem()));
  ::PEM_write_bio_X509(bytes.get(), certificate);
  char* data = nullptr;
  const long size = ::BIO_get_mem_data(bytes.get(), &data);
  return {data, static_cast<size_t>(size)};
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
  const Key key(::EVP_EC_gen("P-256"));
  // OpenSSL finds authorities by their names.
  static std::atomic<int> count{0};
  const Certificate authority = MakeCertificate(
      key.get(), absl::StrCat("Test authority ", ++count), 1, false);
  X509_NAME* const issuer = ::X509_get_subject_name(authority.get());
  ::X509_set_issuer_name(authority.get(), issuer);
  AddExtension(authority.get(), NID_basic_constraints, "critical,CA:TRUE");
  ::X509_sign(authority.get(), key.get(), ::EVP_sha256());
  const Certificate own =
      MakeCertificate(key.get(), "server", 2, options.expired);
  ::X509_set_issuer_name(own.get(), issuer);
  AddExtension(own.get(), NID_subject_alt_name,
               absl::StrCat("DNS:", options.name));
  ::X509_sign(own.get(), key.get(), ::EVP_sha256());
  ::SSL_CTX_use_certificate(context, own.get());
  ::SSL_CTX_use_PrivateKey(context, key.get());
  return ToPem(authority.get());
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
  SSL_CTX* const context = context_.get();
  authority_ = Equip(context, options);
  ::SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  ::SSL_CTX_set_max_proto_version(context, options.most_version);
  ::SSL_CTX_set_alpn_select_cb(context, SelectProtocol, nullptr);
  // Old versions of TLS need it.
  ::SSL_CTX_set_security_level(context, 0);
  server_ =
      std::make_unique<UpstreamServer>([this](int socket) { Accept(socket); });
}

void TlsServer::Accept(int socket) {
  const Ssl ssl(::SSL_new(context_.get()));
  ::SSL_set_fd(ssl.get(), socket);
  if (::SSL_accept(ssl.get()) == 1) {
    TlsConnection connection(ssl.get());
    serve_(connection);
    ::SSL_shutdown(ssl.get());
  }
}

}  // namespace tests
