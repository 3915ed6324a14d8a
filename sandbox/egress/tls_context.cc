#include "sandbox/egress/tls_context.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "openssl/err.h"
#include "openssl/pem.h"
#include "openssl/x509.h"
#include "sandbox/base/unique_fd.h"

namespace egress {
namespace {

// Where distributions keep the certificates of all authorities.
constexpr const char* kBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
// Bundles have a few hundred KiB.
constexpr size_t kMaxBundle = 16 << 20;
// The size of the protocol's name and the name, as ALPN sends them.
constexpr unsigned char kHttp11[] = "\x08http/1.1";

// Returns how many certificates were added, or -1 if one is malformed.
int AddAuthorities(const std::string& pem, X509_STORE* store) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> bytes(
      ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &::BIO_free);
  int count = 0;
  for (;; ++count) {
    const std::unique_ptr<X509, decltype(&::X509_free)> certificate(
        ::PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr),
        &::X509_free);
    if (certificate == nullptr) {
      const bool at_end =
          ERR_GET_REASON(::ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      ::ERR_clear_error();
      return at_end ? count : -1;
    }
    ::X509_STORE_add_cert(store, certificate.get());
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Create(
    const std::string& authorities) {
  std::unique_ptr<TlsContext> made(
      new TlsContext(::SSL_CTX_new(::TLS_client_method())));
  SSL_CTX* const context = made->get();
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // SSL_MODE_RELEASE_BUFFERS: idle connections keep no buffers.
  ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_alpn_protos(context, kHttp11, sizeof(kHttp11) - 1);
  if (AddAuthorities(authorities, ::SSL_CTX_get_cert_store(context)) <= 0) {
    return absl::InvalidArgumentError(
        "the file of authorities must have certificates in PEM");
  }
  return made;
}

std::string ReadAuthorities(int file) {
  std::string all;
  std::string part(64 << 10, '\0');
  while (all.size() < kMaxBundle) {
    const ssize_t got = ::read(file, &part[0], part.size());
    if (got <= 0) {
      return got == 0 ? all : "";
    }
    all.append(part, 0, static_cast<size_t>(got));
  }
  return "";
}

std::string HostAuthorities() {
  for (const char* path : kBundles) {
    const sandbox::UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
    if (file.valid()) {
      return ReadAuthorities(file.get());
    }
  }
  return "";
}

}  // namespace egress
