#include "sandbox/egress/http_request.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace egress {
namespace {

using State = HttpRequest::State;
using Body = HttpRequest::Body;

HttpRequest Parse(absl::string_view fields,
                  absl::string_view line = "GET / HTTP/1.1") {
  return ParseHttpRequest(absl::StrCat(line, "\r\n", fields, "\r\n"));
}

TEST(HttpRequestTest, ReadsTheHead) {
  const std::string head =
      "POST /a?b HTTP/1.1\r\nHost: Example.com:8080\r\nContent-Length: 5\r\n"
      "\r\n";
  const HttpRequest request = ParseHttpRequest(head + "hello and more");
  EXPECT_EQ(request.state, State::kComplete);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/a?b");
  EXPECT_EQ(request.head_size, head.size());
  EXPECT_EQ(request.body, Body::kSized);
  EXPECT_EQ(request.body_size, 5U);
  EXPECT_EQ(HostOf(request), "example.com");
}

TEST(HttpRequestTest, WaitsForTheEndOfTheHead) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a.com\r\n\r\n";
  for (size_t size = 1; size < head.size(); ++size) {
    EXPECT_EQ(ParseHttpRequest(head.substr(0, size)).state, State::kIncomplete)
        << size;
  }
}

TEST(HttpRequestTest, RefusesOtherProtocolsWithTheirFirstLine) {
  for (const char* bytes :
       {"SSH-2.0-OpenSSH_9.2p1\r\n", "PRI * HTTP/2.0\r\n", "EHLO me\r\n",
        "GET /\r\n", "GET / HTTP/1.1\n", "GET  / HTTP/1.1\r\n", "\r\n",
        "G\x01T / HTTP/1.1\r\n", "\x05\x01"}) {
    EXPECT_EQ(ParseHttpRequest(bytes).state, State::kMalformed) << bytes;
  }
}

TEST(HttpRequestTest, RefusesWhatServersReadInDifferentWays) {
  for (const char* fields :
       {"Host: a.com\r\nHost: b.com\r\n", "Host : a.com\r\n",
        "Host: a.com\r\n folded: b.com\r\n", "Host: a.com\nX: y\r\n",
        "Host: a.com\rX: y\r\n", "no colon\r\n", ": value\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: +5\r\n", "Content-Length: 5, 5\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"}) {
    EXPECT_EQ(Parse(fields).state, State::kMalformed) << fields;
  }
  EXPECT_EQ(Parse(absl::string_view("Host: a.com\0.b.com\r\n", 20)).state,
            State::kMalformed);
}

TEST(HttpRequestTest, RefusesAHeadThatIsTooLarge) {
  std::string head = "GET / HTTP/1.1\r\nHost: a.com\r\nX: ";
  head.resize(kMaxHttpHead - 1, 'x');
  EXPECT_EQ(ParseHttpRequest(head).state, State::kIncomplete);
  EXPECT_EQ(ParseHttpRequest(head + "xx\r\n\r\n").state, State::kMalformed);
}

TEST(HttpRequestTest, NamesNoHostIfTargetAndHostDiffer) {
  EXPECT_EQ(HostOf(Parse("Host: a.com\r\n", "GET http://a.com/x HTTP/1.1")),
            "a.com");
  EXPECT_EQ(HostOf(Parse("Host: a.com\r\n", "GET http://b.com/x HTTP/1.1")),
            "");
  EXPECT_EQ(
      HostOf(Parse("Host: a.com\r\n", "GET http://a.com@b.com/ HTTP/1.1")), "");
  EXPECT_EQ(HostOf(Parse("Host: a.com\r\n", "GET https://a.com/ HTTP/1.1")),
            "");
  EXPECT_EQ(HostOf(Parse("Host: a.com\r\n", "CONNECT a.com:443 HTTP/1.1")), "");
  EXPECT_EQ(HostOf(Parse("Host: a.com, b.com\r\n")), "");
  EXPECT_EQ(HostOf(Parse("Host: 127.0.0.1\r\n")), "");
  EXPECT_EQ(HostOf(Parse("")), "");
}

TEST(HttpRequestTest, AsksTheServerToCloseTheConnectionAfterwards) {
  EXPECT_EQ(MakeOnlyRequest(Parse("Host: a.com\r\nConnection: keep-alive\r\n"
                                  "keep-alive: 5\r\nX-y:  z \r\n")),
            "GET / HTTP/1.1\r\nHost: a.com\r\nX-y: z\r\n"
            "Connection: close\r\n\r\n");
}

TEST(HttpRequestTest, LetsAWebSocketBegin) {
  const HttpRequest request = Parse(
      "Host: a.com\r\nConnection: keep-alive, Upgrade\r\n"
      "Upgrade: websocket\r\n");
  EXPECT_TRUE(IsUpgrade(request));
  EXPECT_EQ(MakeOnlyRequest(request),
            "GET / HTTP/1.1\r\nHost: a.com\r\nUpgrade: websocket\r\n"
            "Connection: close, Upgrade\r\n\r\n");
  EXPECT_FALSE(IsUpgrade(Parse("Host: a.com\r\nUpgrade: websocket\r\n")));
  EXPECT_FALSE(IsUpgrade(
      Parse("Host: a.com\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n")));
}

}  // namespace
}  // namespace egress
