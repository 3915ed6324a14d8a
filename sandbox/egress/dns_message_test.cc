#include "sandbox/egress/dns_message.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace egress {
namespace {

std::string Name(absl::string_view name) {
  std::string bytes;
  for (const absl::string_view label : absl::StrSplit(name, '.')) {
    bytes.push_back(static_cast<char>(label.size()));
    absl::StrAppend(&bytes, label);
  }
  return bytes + std::string(1, '\0');
}

std::string Query(const std::string& name, uint16_t type) {
  std::string bytes("\x12\x34\x01\0\0\1\0\0\0\0\0\0", 12);
  absl::StrAppend(&bytes, name);
  bytes.push_back(static_cast<char>(type >> 8));
  bytes.push_back(static_cast<char>(type));
  return bytes + std::string("\0\1", 2);
}

TEST(DnsMessageTest, ReadsTheNameAndTheType) {
  const std::string message = Query(Name("Www.Example.com"), kTypeAaaa);
  DnsQuery query;
  ASSERT_TRUE(ParseDnsQuery(message, &query));
  EXPECT_EQ(query.code, DnsCode::kOk);
  EXPECT_EQ(query.name, "www.example.com");
  EXPECT_EQ(query.type, kTypeAaaa);
}

TEST(DnsMessageTest, AnswersWithOneAddress) {
  const std::string message =
      Query(Name("a.b"), kTypeA) + "additional records are left out";
  DnsQuery query;
  ASSERT_TRUE(ParseDnsQuery(message, &query));
  EXPECT_EQ(MakeDnsAnswer(query, *IpAddress::Parse("198.18.0.7")),
            std::string("\x12\x34\x81\x80\0\1\0\1\0\0\0\0"
                        "\1a\1b\0\0\1\0\1"
                        "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\xc6\x12\0\7",
                        37));
}

TEST(DnsMessageTest, RefusesWithTheQuestionAndWithoutARecord) {
  const std::string message = Query(Name("a.b"), kTypeA);
  DnsQuery query;
  ASSERT_TRUE(ParseDnsQuery(message, &query));
  EXPECT_EQ(MakeDnsAnswer(query, DnsCode::kRefused),
            std::string("\x12\x34\x81\x85\0\1\0\0\0\0\0\0"
                        "\1a\1b\0\0\1\0\1",
                        21));
}

TEST(DnsMessageTest, FollowsNoCompressedName) {
  for (const std::string& name :
       {std::string("\xc0\x0c", 2), std::string("\1a\xc0\x0c", 4),
        std::string("\xff\xff", 2), std::string("\x40", 1)}) {
    const std::string message = Query(name, kTypeA);
    DnsQuery query;
    ASSERT_TRUE(ParseDnsQuery(message, &query));
    EXPECT_EQ(query.code, DnsCode::kMalformed);
    EXPECT_EQ(MakeDnsAnswer(query, query.code),
              std::string("\x12\x34\x81\x81\0\0\0\0\0\0\0\0", 12));
  }
}

TEST(DnsMessageTest, RefusesALabelThatContainsADot) {
  const std::string message = Query(std::string("\x0b"
                                                "example.com\0",
                                                13),
                                    kTypeA);
  DnsQuery query;
  ASSERT_TRUE(ParseDnsQuery(message, &query));
  EXPECT_EQ(query.name, "");
}

TEST(DnsMessageTest, SurvivesEveryPrefixOfAMessage) {
  const std::string message = Query(Name("www.example.com"), kTypeA);
  for (size_t size = 0; size < message.size(); ++size) {
    DnsQuery query;
    const std::string part = message.substr(0, size);
    EXPECT_EQ(ParseDnsQuery(part, &query), size >= 12);
    EXPECT_EQ(query.code, DnsCode::kMalformed);
  }
}

TEST(DnsMessageTest, DoesNotAnswerAnAnswer) {
  std::string message = Query(Name("a.b"), kTypeA);
  message[2] = '\x81';
  DnsQuery query;
  EXPECT_FALSE(ParseDnsQuery(message, &query));
}

TEST(DnsMessageTest, ImplementsOnlyQueriesOfTheInternetClass) {
  std::string update = Query(Name("a.b"), kTypeA);
  update[2] = '\x28';
  DnsQuery query;
  ASSERT_TRUE(ParseDnsQuery(update, &query));
  EXPECT_EQ(query.code, DnsCode::kNotImplemented);
  std::string chaos = Query(Name("version.bind"), 16);
  chaos.back() = 3;
  ASSERT_TRUE(ParseDnsQuery(chaos, &query));
  EXPECT_EQ(query.code, DnsCode::kRefused);
}

TEST(DnsMessageTest, AnswersWithAnIpv6Address) {
  const std::string message = Query(Name("a.b"), kTypeAaaa);
  DnsQuery query;
  ASSERT_TRUE(ParseDnsQuery(message, &query));
  EXPECT_EQ(MakeDnsAnswer(query, *IpAddress::Parse("fdc0:11a1::7")),
            std::string("\x12\x34\x81\x80\0\1\0\1\0\0\0\0"
                        "\1a\1b\0\0\x1c\0\1"
                        "\xc0\x0c\0\x1c\0\1\0\0\0\x1e\0\x10"
                        "\xfd\xc0\x11\xa1\0\0\0\0\0\0\0\0\0\0\0\7",
                        49));
}

TEST(DnsMessageTest, RepeatsTheOpcodeAndTheWishForRecursionAlone) {
  std::string message = Query(Name("a.b"), kTypeA);
  message[2] = '\x2e';
  DnsQuery query;
  ASSERT_TRUE(ParseDnsQuery(message, &query));
  EXPECT_EQ(MakeDnsAnswer(query, query.code).substr(0, 4),
            std::string("\x12\x34\xa8\x84"));
  message = Query(Name("a.b"), kTypeA);
  message[4] = '\1';
  message.replace(6, 6, 6, '\1');
  ASSERT_TRUE(ParseDnsQuery(message, &query));
  EXPECT_EQ(query.code, DnsCode::kMalformed) << "257 questions";
  EXPECT_EQ(MakeDnsAnswer(query, query.code).substr(4),
            std::string("\0\0\0\0\0\0\0\0", 8));
  message[4] = '\0';
  ASSERT_TRUE(ParseDnsQuery(message, &query));
  EXPECT_EQ(MakeDnsAnswer(query, query.code).substr(4, 8),
            std::string("\0\1\0\0\0\0\0\0", 8));
}

TEST(DnsMessageTest, ReadsLabelsAndNamesUpToTheirBounds) {
  const std::string label(63, 'a');
  const std::string name = label + "." + label + "." + label + "." + label;
  const auto read = [](const std::string& text) {
    const std::string message = Query(Name(text), kTypeA);
    DnsQuery query;
    EXPECT_TRUE(ParseDnsQuery(message, &query));
    return query;
  };
  EXPECT_EQ(read(name.substr(0, 253)).name, name.substr(0, 253));
  EXPECT_EQ(read(name.substr(0, 253)).code, DnsCode::kOk);
  // Longer than any host name, but a name of DNS.
  EXPECT_EQ(read(name.substr(0, 254)).name, "");
  EXPECT_EQ(read(name + ".a").code, DnsCode::kMalformed);
  EXPECT_EQ(read(std::string(64, 'a')).code, DnsCode::kMalformed);
}

TEST(DnsMessageTest, ReadsTheRootAsNoHostName) {
  const std::string message = Query(std::string(1, '\0'), kTypeA);
  DnsQuery query;
  ASSERT_TRUE(ParseDnsQuery(message, &query));
  EXPECT_EQ(query.code, DnsCode::kOk);
  EXPECT_EQ(query.name, "");
}

}  // namespace
}  // namespace egress
