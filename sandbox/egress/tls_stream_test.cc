// The client's end of TLS, with a real server.

#include "sandbox/egress/tls_stream.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <future>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/err.h"
#include "openssl/ssl.h"
#include "sandbox/base/reset_on_close.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/tls_context.h"
#include "tests/network/tls_server.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using ::sandbox::UniqueFd;
using ::testing::HasSubstr;
using ::tests::TlsConnection;
using ::tests::TlsServer;
using Result = TlsStream::Result;

class TlsStreamTest : public ::testing::Test {
 protected:
  // Connects to the server, whose certificate must have the name.
  void Connect(const TlsServer& server, const std::string& authorities,
               const std::string& name = "api.example") {
    Connect(server.port(), authorities, name);
  }
  void Connect(uint16_t port, const std::string& authorities,
               const std::string& name = "api.example") {
    socket_.Reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                        sizeof(address)),
              0);
    ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    context_ = *TlsContext::Create(authorities);
    stream_ = std::make_unique<TlsStream>(*context_, socket_.get(), name);
  }
  Result Handshake() {
    return Repeat([this] { return stream_->Handshake(); });
  }
  // All bytes until something else than bytes comes.
  std::string ReadAll(Result* end) {
    std::string all;
    do {
      char bytes[100];
      size_t got = 0;
      *end = Repeat([&] { return stream_->Read(bytes, sizeof(bytes), &got); });
      all.append(bytes, got);
    } while (*end == Result::kDone);
    return all;
  }
  template <typename Step>
  Result Repeat(Step step) {
    for (;;) {
      const Result result = step();
      if (result != Result::kWait) {
        return result;
      }
      pollfd ready = {socket_.get(), POLLIN, 0};
      ::poll(&ready, 1, -1);
    }
  }

  UniqueFd socket_;
  std::unique_ptr<TlsContext> context_;
  std::unique_ptr<TlsStream> stream_;
};

TEST_F(TlsStreamTest, MovesBytesAndSeesTheEnd) {
  std::string got;
  bool ended = false;
  bool closed = false;
  std::string protocol;
  std::string name;
  TlsServer server([&](TlsConnection& connection) {
    protocol = connection.protocol();
    name = connection.server_name();
    got = connection.ReadUntil("");
    ended = connection.ended();
    closed = connection.AwaitClose();
    connection.Send("answer");
  });
  Connect(server, server.authority());
  ASSERT_EQ(Handshake(), Result::kDone);
  size_t moved = 0;
  ASSERT_EQ(stream_->Write("question", &moved), Result::kDone);
  EXPECT_EQ(moved, 8U);
  stream_->EndWriting();
  Result end;
  EXPECT_EQ(ReadAll(&end), "answer");
  EXPECT_EQ(end, Result::kEnded);
  EXPECT_EQ(stream_->failure(), "it ended the connection");
  EXPECT_EQ(got, "question");
  EXPECT_TRUE(ended);
  EXPECT_TRUE(closed);
  EXPECT_EQ(protocol, "http/1.1");
  EXPECT_EQ(name, "api.example");
}

TEST_F(TlsStreamTest, SeesThatTheServerBreaksOff) {
  const tests::UpstreamServer server(
      [](int socket) { sandbox::ResetOnClose(socket); });
  const TlsServer other([](TlsConnection&) {});
  Connect(server.port(), other.authority());
  EXPECT_EQ(Handshake(), Result::kFailed);
  EXPECT_EQ(stream_->failure(), "TLS failed: it broke the connection off");
}

TEST_F(TlsStreamTest, SeesThatAnEndIsCutShort) {
  TlsServer server([](TlsConnection& connection) {
    connection.Send("half");
    connection.Cut();
  });
  Connect(server, server.authority());
  ASSERT_EQ(Handshake(), Result::kDone);
  Result end;
  EXPECT_EQ(ReadAll(&end), "half");
  EXPECT_EQ(end, Result::kFailed);
  EXPECT_THAT(stream_->failure(), HasSubstr("TLS failed: "));
}

TEST_F(TlsStreamTest, TrustsTheNameInTheCertificateOnly) {
  TlsServer server([](TlsConnection&) {});
  Connect(server, server.authority(), "evil.example");
  EXPECT_EQ(Handshake(), Result::kFailed);
  EXPECT_THAT(stream_->failure(), HasSubstr("hostname mismatch"));
}

TEST_F(TlsStreamTest, TakesAWildcardForAWholeLabelOnly) {
  const struct {
    const char* name;
    Result result;
  } cases[] = {{"*.b.example", Result::kDone},
               {"ap*.b.example", Result::kFailed}};
  for (const auto& [name, result] : cases) {
    TlsServer::Options options;
    options.name = name;
    TlsServer server([](TlsConnection&) {}, options);
    Connect(server, server.authority(), "api.b.example");
    EXPECT_EQ(Handshake(), result) << name;
  }
  EXPECT_THAT(stream_->failure(), HasSubstr("hostname mismatch"));
}

TEST_F(TlsStreamTest, IgnoresTheErrorsOfOtherConnections) {
  std::promise<void> go;
  TlsServer server([&](TlsConnection&) { go.get_future().wait(); });
  Connect(server, server.authority());
  // All connections of a thread leave their errors in one queue.
  const auto fail = [] { ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH); };
  EXPECT_EQ(Repeat([&] {
              fail();
              return stream_->Handshake();
            }),
            Result::kDone);
  char byte;
  size_t moved = 0;
  fail();
  EXPECT_EQ(stream_->Read(&byte, 1, &moved), Result::kWait);
  // The server does not read.
  const std::string bytes(64 << 10, 'x');
  Result written;
  do {
    fail();
    written = stream_->Write(bytes, &moved);
  } while (written == Result::kDone);
  EXPECT_EQ(written, Result::kWait);
  go.set_value();
}

TEST_F(TlsStreamTest, TrustsItsAuthoritiesOnly) {
  TlsServer server([](TlsConnection&) {});
  TlsServer other([](TlsConnection&) {});
  Connect(server, other.authority());
  EXPECT_EQ(Handshake(), Result::kFailed);
  EXPECT_THAT(stream_->failure(), HasSubstr("its certificate is not valid"));
  Connect(server, other.authority() + server.authority());
  EXPECT_EQ(Handshake(), Result::kDone);
}

TEST_F(TlsStreamTest, SpeaksNoOldVersion) {
  TlsServer::Options options;
  options.most_version = TLS1_2_VERSION;
  TlsServer current([](TlsConnection&) {}, options);
  Connect(current, current.authority());
  EXPECT_EQ(Handshake(), Result::kDone);
  options.most_version = TLS1_1_VERSION;
  TlsServer old([](TlsConnection&) {}, options);
  Connect(old, old.authority());
  EXPECT_EQ(Handshake(), Result::kFailed);
}

TEST(TlsContextTest, NeedsCertificates) {
  const TlsServer server([](TlsConnection&) {});
  for (const std::string& bad :
       {std::string(), std::string("nonsense"),
        server.authority().substr(0, 100),
        server.authority() + "-----BEGIN CERTIFICATE-----\nx\n"}) {
    EXPECT_EQ(TlsContext::Create(bad).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
  }
}

TEST(TlsContextTest, KeepsNeitherSessionsNorBuffersOfQuietConnections) {
  const TlsServer server([](TlsConnection&) {});
  const auto context = *TlsContext::Create(server.authority());
  EXPECT_EQ(::SSL_CTX_get_session_cache_mode(context->get()),
            SSL_SESS_CACHE_OFF);
  EXPECT_NE(SSL_CTX_get_mode(context->get()) & SSL_MODE_RELEASE_BUFFERS, 0);
  EXPECT_NE(::SSL_CTX_get_options(context->get()) & SSL_OP_NO_RENEGOTIATION,
            0U);
}

TEST(TlsContextTest, ReadsFilesOfAuthorities) {
  const UniqueFd file(::memfd_create("authorities", MFD_CLOEXEC));
  const std::string bytes(200'000, 'x');
  ASSERT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_TRUE(ReadAuthorities(file.get()) == bytes);
  EXPECT_EQ(ReadAuthorities(-1), "");
}

TEST(TlsContextTest, ReadsNoFileOfSixteenMebibytes) {
  constexpr off_t kBound = 16 << 20;
  const UniqueFd file(::memfd_create("authorities", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), kBound), 0);
  EXPECT_EQ(ReadAuthorities(file.get()), "");
  ASSERT_EQ(::ftruncate(file.get(), kBound - 1), 0);
  ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(ReadAuthorities(file.get()).size(), size_t{kBound - 1});
}

TEST(TlsContextTest, FindsTheAuthoritiesOfTheHost) {
  if (::access("/etc/ssl/certs/ca-certificates.crt", R_OK) != 0) {
    GTEST_SKIP() << "the package ca-certificates is not installed";
  }
  EXPECT_TRUE(TlsContext::Create(HostAuthorities()).ok());
}

}  // namespace
}  // namespace egress
