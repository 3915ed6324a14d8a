#include "sandbox/egress/name_service.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/egress/dns_message.h"
#include "tests/network/dns_query.h"

namespace egress {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::tests::MakeDnsQuery;

class NameServiceTest : public ::testing::Test {
 protected:
  static Policy MakePolicy() {
    wire::Policy message;
    wire::Rule* const rule = message.add_rules();
    rule->set_host("a.com");
    rule->add_ports(443);
    return *Policy::Make(message);
  }
  static int Code(const std::string& answer) { return answer[3] & 0xf; }
  static int Records(const std::string& answer) { return answer[7]; }

  const Policy policy_ = MakePolicy();
  const sandbox::UniqueFd file_ = *NameTable::MakeFile();
  NameTable names_ = *NameTable::Open(file_);
  std::vector<wire::Event> events_;
  Journal journal_{[this](const wire::Event& event) {
    events_.push_back(event);
    return true;
  }};
  NameService service_{&policy_, &names_, &journal_, true};
};

TEST_F(NameServiceTest, GivesAllowedNamesTheirAddresses) {
  const std::string v4 = service_.Answer(MakeDnsQuery("A.com", kTypeA));
  EXPECT_EQ(Code(v4), 0);
  EXPECT_EQ(Records(v4), 1);
  EXPECT_THAT(v4, EndsWith(std::string("\0\4\xc6\x12\0\1", 6)));
  const std::string v6 = service_.Answer(MakeDnsQuery("a.com", kTypeAaaa));
  EXPECT_EQ(Records(v6), 1);
  EXPECT_THAT(v6, EndsWith(std::string("\0\0\0\1", 4)));
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(NameServiceTest, GivesNoIpv6AddressesWhereThereIsNoIpv6) {
  NameService service(&policy_, &names_, &journal_, false);
  const std::string answer = service.Answer(MakeDnsQuery("a.com", kTypeAaaa));
  EXPECT_EQ(Code(answer), 0);
  EXPECT_EQ(Records(answer), 0);
  EXPECT_EQ(Records(service.Answer(MakeDnsQuery("a.com", kTypeA))), 1);
}

TEST_F(NameServiceTest, HasNoRecordsOfOtherTypes) {
  const std::string answer = service_.Answer(MakeDnsQuery("a.com", 16));
  EXPECT_EQ(Code(answer), 0);
  EXPECT_EQ(Records(answer), 0);
}

TEST_F(NameServiceTest, AnswersThatOtherNamesDoNotExistAndReportsThem) {
  const std::string answer = service_.Answer(MakeDnsQuery("B.com", kTypeA));
  EXPECT_EQ(Code(answer), 3);
  EXPECT_EQ(Records(answer), 0);
  EXPECT_EQ(Code(service_.Answer(MakeDnsQuery("127.1", kTypeA))), 3);
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_EQ(events_[0].kind(), wire::Event::NAME_REFUSED);
  EXPECT_EQ(events_[0].reason(), wire::Event::NAME_NOT_ALLOWED);
  EXPECT_EQ(events_[0].host(), "b.com");
  EXPECT_EQ(events_[1].host(), "");
  EXPECT_EQ(names_.Find(*IpAddress::Parse("198.18.0.1")), std::nullopt);
}

TEST_F(NameServiceTest, AnswersMalformedQuestionsWithTheirError) {
  EXPECT_EQ(service_.Answer("short"), "");
  std::string question = MakeDnsQuery("a.com", kTypeA);
  EXPECT_EQ(Code(service_.Answer(question.substr(0, 14))), 1);
  question[2] = '\x28';
  EXPECT_EQ(Code(service_.Answer(question)), 4);
  EXPECT_THAT(events_, IsEmpty());
}

}  // namespace
}  // namespace egress
