#include "sandbox/egress/client_hello.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/egress/tls_messages.h"

namespace egress {
namespace {

using State = ClientHello::State;

std::string Extension(int type, const std::string& content) {
  return Number(type, 2) + Vector(content, 2);
}

std::string ServerName(const std::string& name) {
  return Extension(0, Vector(Number(0, 1) + Vector(name, 2), 2));
}

std::string Message(const std::string& extensions, int version = 0x0303) {
  const std::string body =
      Number(version, 2) + std::string(32, 'r') +
      Vector(std::string(32, 's'), 1) + Vector(Number(0x1301, 2), 2) +
      Vector(std::string(1, '\0'), 1) + Vector(extensions, 2);
  return Number(1, 1) + Vector(body, 3);
}

std::string Record(const std::string& content) {
  return Number(22, 1) + Number(0x0301, 2) + Vector(content, 2);
}

const char* const kPadding = "\0\x15\0\2xx";

TEST(ClientHelloTest, FindsTheServerName) {
  const std::string bytes =
      Record(Message(std::string(kPadding, 6) + ServerName("example.com")));
  const ClientHello hello = ParseClientHello(bytes);
  EXPECT_EQ(hello.state, State::kComplete);
  EXPECT_EQ(hello.server_name, "example.com");
  EXPECT_FALSE(hello.encrypted);
}

TEST(ClientHelloTest, FindsItInHellosOfOldVersions) {
  const ClientHello hello =
      ParseClientHello(Record(Message(ServerName("example.com"), 0x0301)));
  EXPECT_EQ(hello.state, State::kComplete);
  EXPECT_EQ(hello.server_name, "example.com");
}

TEST(ClientHelloTest, ReportsThatThereIsNone) {
  const ClientHello hello = ParseClientHello(Record(Message("")));
  EXPECT_EQ(hello.state, State::kComplete);
  EXPECT_EQ(hello.server_name, "");
}

TEST(ClientHelloTest, ReadsAMessageInSeveralRecords) {
  const std::string message = Message(ServerName("example.com"));
  std::string bytes;
  for (size_t i = 0; i < message.size(); i += 7) {
    absl::StrAppend(&bytes, Record(message.substr(i, 7)));
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(ParseClientHello(bytes.substr(0, size)).state, State::kIncomplete)
        << size;
  }
  EXPECT_EQ(ParseClientHello(bytes).server_name, "example.com");
  EXPECT_EQ(ParseClientHello(bytes + "early data").state, State::kComplete);
}

TEST(ClientHelloTest, RefusesBytesBehindTheMessageInItsRecord) {
  const std::string bytes = Record(Message(ServerName("example.com")) + "more");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(ParseClientHello(bytes.substr(0, size)).state, State::kIncomplete)
        << size;
  }
  EXPECT_EQ(ParseClientHello(bytes).state, State::kMalformed);
}

TEST(ClientHelloTest, RefusesASecondServerName) {
  EXPECT_EQ(ParseClientHello(
                Record(Message(ServerName("a.com") + ServerName("b.com"))))
                .state,
            State::kMalformed);
  const std::string two =
      Number(0, 1) + Vector("a.com", 2) + Number(0, 1) + Vector("b.com", 2);
  EXPECT_EQ(
      ParseClientHello(Record(Message(Extension(0, Vector(two, 2))))).state,
      State::kMalformed);
}

TEST(ClientHelloTest, ReportsAnEncryptedOne) {
  const ClientHello hello = ParseClientHello(
      Record(Message(ServerName("a.com") + Extension(0xfe0d, "secret"))));
  EXPECT_EQ(hello.state, State::kComplete);
  EXPECT_TRUE(hello.encrypted);
}

TEST(ClientHelloTest, RefusesWhatIsNoHello) {
  EXPECT_EQ(ParseClientHello("GET / HTTP/1.1\r\n\r\n").state,
            State::kMalformed);
  // A hello of SSL 2.
  EXPECT_EQ(ParseClientHello(std::string("\x80\x2e\1\3\1\0\x15", 7)).state,
            State::kMalformed);
  // Another handshake message, an empty record, and too large ones.
  EXPECT_EQ(ParseClientHello(Record("\2\0\0\1x")).state, State::kMalformed);
  EXPECT_EQ(ParseClientHello(Record("")).state, State::kMalformed);
  EXPECT_EQ(ParseClientHello(std::string("\x16\3\1\x40\1", 5)).state,
            State::kMalformed);
  EXPECT_EQ(ParseClientHello(Record(Number(1, 1) + Number(1 << 20, 3))).state,
            State::kMalformed);
}

TEST(ClientHelloTest, SurvivesEveryChangedByte) {
  const std::string bytes = Record(Message(ServerName("example.com")));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0, 1, 127, 255}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      const ClientHello hello = ParseClientHello(changed);
      EXPECT_LE(hello.server_name.size(), bytes.size());
    }
  }
}

// A hello with `size` bytes behind the head of its message.
std::string HelloOfSize(size_t size) {
  const size_t fixed = Message("").size() - 4;
  const std::string padding(size - fixed - 4, 'x');
  const std::string message = Message(Extension(21, padding));
  std::string bytes;
  for (size_t i = 0; i < message.size(); i += 1 << 14) {
    absl::StrAppend(&bytes, Record(message.substr(i, 1 << 14)));
  }
  return bytes;
}

TEST(ClientHelloTest, ReadsMessagesAndRecordsUpToTheirBounds) {
  EXPECT_EQ(ParseClientHello(HelloOfSize(kMaxClientHello)).state,
            State::kComplete);
  EXPECT_EQ(ParseClientHello(HelloOfSize(kMaxClientHello + 1)).state,
            State::kMalformed);
  // Records of 1 byte make much more of it than it is.
  const std::string message =
      Message(Extension(21, std::string(20'000, 'x')) + ServerName("a.com"));
  std::string bytes;
  for (const char byte : message) {
    absl::StrAppend(&bytes, Record(std::string(1, byte)));
  }
  EXPECT_EQ(ParseClientHello(bytes.substr(0, kMaxClientHello)).state,
            State::kIncomplete);
  EXPECT_EQ(ParseClientHello(bytes.substr(0, kMaxClientHello + 1)).state,
            State::kMalformed);
  EXPECT_EQ(ParseClientHello(std::string("\x16\3\1\x40\0", 5)).state,
            State::kIncomplete);
}

TEST(ClientHelloTest, ReadsAHelloFromBeforeExtensions) {
  const std::string body = Number(0x0300, 2) + std::string(32, 'r') +
                           Vector("", 1) + Vector(Number(0x0005, 2), 2) +
                           Vector(Number(0, 1), 1);
  EXPECT_EQ(ParseClientHello(Record(Number(1, 1) + Vector(body, 3))).state,
            State::kComplete);
  for (size_t cut = 1; cut <= body.size(); ++cut) {
    const std::string part = body.substr(0, body.size() - cut);
    EXPECT_EQ(ParseClientHello(Record(Number(1, 1) + Vector(part, 3))).state,
              State::kMalformed)
        << cut;
  }
  EXPECT_EQ(
      ParseClientHello(Record(Number(1, 1) + Vector(body + "x", 3))).state,
      State::kMalformed);
}

TEST(ClientHelloTest, RefusesWhatIsNotExactlyOneHostName) {
  const auto state = [](const std::string& extension) {
    return ParseClientHello(Record(Message(Extension(0, extension)))).state;
  };
  const std::string entry = Number(0, 1) + Vector("a.com", 2);
  EXPECT_EQ(state(Vector(entry, 2)), State::kComplete);
  EXPECT_EQ(state(Vector(entry, 2) + "x"), State::kMalformed);
  EXPECT_EQ(state(Vector(entry + "x", 2)), State::kMalformed);
  EXPECT_EQ(state(Vector(Number(1, 1) + Vector("a.com", 2), 2)),
            State::kMalformed);
  EXPECT_EQ(state(Vector(Number(0, 1) + Vector("", 2), 2)), State::kMalformed);
  EXPECT_EQ(state(Number(20, 2) + entry), State::kMalformed);
  EXPECT_EQ(state(""), State::kMalformed);
}

TEST(ClientHelloTest, RefusesExtensionsThatAreCut) {
  EXPECT_EQ(ParseClientHello(Record(Message(ServerName("a.com") + "xx"))).state,
            State::kMalformed);
  EXPECT_EQ(ParseClientHello(Record(Message(ServerName("a.com")) + "x")).state,
            State::kMalformed);
}

TEST(ClientHelloTest, KnowsAnEncryptedNameBeforeAnotherExtension) {
  EXPECT_TRUE(ParseClientHello(Record(Message(Extension(0xfe0d, "secret") +
                                              ServerName("a.com"))))
                  .encrypted);
}

TEST(ClientHelloTest, RefusesOtherProtocolsWithTheirFirstBytes) {
  EXPECT_EQ(ParseClientHello("\x17").state, State::kMalformed);
  EXPECT_EQ(ParseClientHello("\x16").state, State::kIncomplete);
  EXPECT_EQ(ParseClientHello("\x16\2").state, State::kMalformed);
  EXPECT_EQ(ParseClientHello("\x16\3").state, State::kIncomplete);
}

}  // namespace
}  // namespace egress
