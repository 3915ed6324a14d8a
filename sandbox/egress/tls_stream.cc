#include "sandbox/egress/tls_stream.h"

#include <sys/socket.h>

#include "absl/strings/str_cat.h"
#include "openssl/err.h"
#include "openssl/x509v3.h"

namespace egress {

TlsStream::TlsStream(const TlsContext& context, int socket,
                     const std::string& host)
    : ssl_(::SSL_new(context.get())) {
  ::SSL_set_fd(ssl_.get(), socket);
  SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
  ::SSL_set_hostflags(ssl_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  ::SSL_set1_host(ssl_.get(), host.c_str());
  ::SSL_set_connect_state(ssl_.get());
}

TlsStream::Result TlsStream::Handshake() {
  ::ERR_clear_error();
  return ResultOf(::SSL_do_handshake(ssl_.get()));
}

TlsStream::Result TlsStream::Write(absl::string_view bytes, size_t* moved) {
  ::ERR_clear_error();
  return ResultOf(
      ::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), moved));
}

TlsStream::Result TlsStream::Read(char* bytes, size_t size, size_t* moved) {
  ::ERR_clear_error();
  return ResultOf(::SSL_read_ex(ssl_.get(), bytes, size, moved));
}

void TlsStream::EndWriting() {
  ::SSL_shutdown(ssl_.get());
  ::shutdown(::SSL_get_fd(ssl_.get()), SHUT_WR);
}

TlsStream::Result TlsStream::ResultOf(int returned) {
  if (returned == 1) {
    return Result::kDone;
  }
  const int error = ::SSL_get_error(ssl_.get(), returned);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return Result::kWait;
  }
  if (error == SSL_ERROR_ZERO_RETURN) {
    failure_ = "it ended the connection";
    return Result::kEnded;
  }
  const long verified = ::SSL_get_verify_result(ssl_.get());
  const char* const reason = ::ERR_reason_error_string(::ERR_peek_error());
  if (verified != X509_V_OK) {
    failure_ = absl::StrCat("its certificate is not valid: ",
                            ::X509_verify_cert_error_string(verified));
  } else {
    failure_ = absl::StrCat("TLS failed: ", reason == nullptr
                                                ? "it broke the connection off"
                                                : reason);
  }
  return Result::kFailed;
}

}  // namespace egress
