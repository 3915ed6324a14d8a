#include "sandbox/egress/http_request.h"

#include <string>
#include <utility>

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
        "GET /\r\n", "GET / HTTP/1.1\n", "GET  / HTTP/1.1\r\n", "\r\n", "\n",
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
  EXPECT_EQ(HostOf(Parse("Host: a.com\r\n", "CONNECT /x HTTP/1.1")), "");
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
  EXPECT_FALSE(IsUpgrade(Parse("Host: a.com\r\nConnection: Upgrade\r\n")));
  EXPECT_FALSE(IsUpgrade(
      Parse("Host: a.com\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n")));
}

TEST(HttpRequestTest, ReadsFieldsWithoutTheSpacesAroundTheirValues) {
  const HttpRequest request = Parse("A:b\r\nC-d: \t e f \r\nG:\r\n");
  ASSERT_EQ(request.fields.size(), 3U);
  EXPECT_EQ(request.fields[0],
            std::make_pair(std::string("A"), std::string("b")));
  EXPECT_EQ(request.fields[1],
            std::make_pair(std::string("C-d"), std::string("e f")));
  EXPECT_EQ(request.fields[2], std::make_pair(std::string("G"), std::string()));
  EXPECT_EQ(request.version, "HTTP/1.1");
  EXPECT_EQ(request.body, Body::kNone);
}

TEST(HttpRequestTest, ReadsTheSizeOfTheBody) {
  EXPECT_EQ(Parse("Content-Length: 18446744073709551615\r\n").body_size,
            18446744073709551615U);
  EXPECT_EQ(Parse("Content-Length: 0\r\n").body, Body::kSized);
  EXPECT_EQ(Parse("transfer-encoding: Chunked\r\n").body, Body::kChunked);
  EXPECT_EQ(Parse("transfer-encoding: Chunked\r\n").state, State::kComplete);
  EXPECT_EQ(Parse("Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0").state,
            State::kMalformed);
  for (const char* size : {"", "-1", "5x", "0x5", ":", "/"}) {
    EXPECT_EQ(Parse(absl::StrCat("Content-Length: ", size, "\r\n")).state,
              State::kMalformed)
        << size;
  }
}

TEST(HttpRequestTest, TakesEveryByteOfATextExceptControlCharacters) {
  EXPECT_EQ(Parse("A: \x20\t~\x80\xff\r\n").state, State::kComplete);
  for (const char byte : {'\x01', '\x1f', '\x7f'}) {
    EXPECT_EQ(Parse(absl::StrCat("A: b", std::string(1, byte), "c\r\n")).state,
              State::kMalformed);
  }
  EXPECT_EQ(Parse("!#$%&'*+-.^_`|~09azAZ: b\r\n").state, State::kComplete);
  EXPECT_EQ(Parse("a(b: c\r\n").state, State::kMalformed);
}

TEST(HttpRequestTest, RefusesALineOfOtherWords) {
  for (const char* line :
       {"GET /", "GET  HTTP/1.1", "GET / HTTP/1.1 x", "GET / HTTP/1.2",
        "GET / http/1.1", " / HTTP/1.1", "G(T / HTTP/1.1"}) {
    EXPECT_EQ(Parse("Host: a.com\r\n", line).state, State::kMalformed) << line;
  }
  EXPECT_EQ(Parse("Host: a.com\r\n", "GET / HTTP/1.0").state, State::kComplete);
}

TEST(HttpRequestTest, TakesAHeadUpToItsBound) {
  std::string head = "GET / HTTP/1.1\r\nHost: a.com\r\nX: ";
  head.resize(kMaxHttpHead - 4, 'x');
  EXPECT_EQ(ParseHttpRequest(head + "\r\n\r\n").state, State::kComplete);
  EXPECT_EQ(ParseHttpRequest(head + "\r\n\r\nbody").state, State::kComplete);
  EXPECT_EQ(ParseHttpRequest(head + "xxxx").state, State::kMalformed);
}

TEST(HttpRequestTest, NamesTheHostOfEveryFormOfATarget) {
  EXPECT_EQ(HostOf(Parse("Host: a.com\r\n", "OPTIONS * HTTP/1.1")), "a.com");
  for (const char* target : {"http://a.com", "HTTP://A.com:80/x",
                             "http://a.com?x@b.com", "http://a.com#b"}) {
    EXPECT_EQ(HostOf(Parse("Host: a.com:80\r\n",
                           absl::StrCat("GET ", target, " HTTP/1.1"))),
              "a.com")
        << target;
  }
  for (const char* host : {"a.com:", "a.com:x", "a.com:80:80", ""}) {
    EXPECT_EQ(HostOf(Parse(absl::StrCat("Host: ", host, "\r\n"))), "") << host;
  }
  EXPECT_EQ(HostOf(Parse("Host: a.com\r\n", "GET a.com HTTP/1.1")), "");
}

TEST(HttpRequestTest, LeavesOutWhatKeepsAConnectionOpen) {
  EXPECT_EQ(MakeOnlyRequest(Parse("Proxy-Connection: keep-alive\r\n"
                                  "Host: a.com\r\n")),
            "GET / HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace egress
