#include "sandbox/egress/inspection.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/egress/tls_messages.h"

namespace egress {
namespace {

using Event = ::corral::egress::v1::Event;
using State = Inspection::State;

constexpr char kName[] = "a.com";

Inspection Http(const std::string& fields, const std::string& begun = "",
                const std::string& target = "/") {
  return Inspect(
      absl::StrCat("GET ", target, " HTTP/1.1\r\n", fields, "\r\n", begun),
      kName);
}

void ExpectRefused(const Inspection& inspection, Event::Reason reason,
                   const std::string& claimed) {
  EXPECT_EQ(inspection.state, State::kRefused);
  EXPECT_EQ(inspection.reason, reason);
  EXPECT_EQ(inspection.claimed, claimed);
}

TEST(InspectionTest, WaitsForMoreBytes) {
  EXPECT_EQ(Inspect("", kName).state, State::kIncomplete);
  EXPECT_EQ(Inspect("GET / HT", kName).state, State::kIncomplete);
  EXPECT_EQ(Inspect(MakeClientHello(kName).substr(0, 20), kName).state,
            State::kIncomplete);
}

TEST(InspectionTest, PassesTlsAsItIs) {
  const std::string hello = MakeClientHello("A.com");
  const Inspection inspection = Inspect(hello + "early data", kName);
  EXPECT_EQ(inspection.state, State::kAccepted);
  EXPECT_EQ(inspection.first, hello + "early data");
  EXPECT_EQ(inspection.rest, kUnlimited);
}

TEST(InspectionTest, RefusesTlsOfOtherNames) {
  ExpectRefused(Inspect(MakeClientHello("b.com"), kName),
                Event::SERVER_NAME_DIFFERS, "b.com");
  ExpectRefused(Inspect(MakeClientHello(""), kName), Event::NO_SERVER_NAME, "");
  ExpectRefused(Inspect(MakeClientHello(kName, true), kName),
                Event::ENCRYPTED_SERVER_NAME, "");
  ExpectRefused(Inspect(MakeClientHello("b.com", true), kName),
                Event::SERVER_NAME_DIFFERS, "b.com");
  ExpectRefused(Inspect("\x16\x03\x01\x7f\xff", kName), Event::NOT_WEB, "");
}

TEST(InspectionTest, CutsAClaimThatIsLongerThanAnyName) {
  const std::string claim(400, 'x');
  ExpectRefused(Inspect(MakeClientHello(claim), kName),
                Event::SERVER_NAME_DIFFERS, claim.substr(0, 253));
}

TEST(InspectionTest, PassesOneRequestWithoutABody) {
  const Inspection inspection = Http("Host: a.com\r\n", "GET /second");
  EXPECT_EQ(inspection.state, State::kAccepted);
  EXPECT_EQ(inspection.first,
            "GET / HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(inspection.rest, 0U);
}

TEST(InspectionTest, PassesNoByteAfterABody) {
  const std::string fields = "Host: a.com\r\nContent-Length: 5\r\n";
  const std::string head =
      "GET / HTTP/1.1\r\n" + fields + "Connection: close\r\n\r\n";
  EXPECT_EQ(Http(fields, "bo").first, head + "bo");
  EXPECT_EQ(Http(fields, "bo").rest, 3U);
  EXPECT_EQ(Http(fields, "body!").first, head + "body!");
  EXPECT_EQ(Http(fields, "body!").rest, 0U);
  EXPECT_EQ(Http(fields, "body!GET").first, head + "body!");
  EXPECT_EQ(Http(fields, "body!GET").rest, 0U);
}

TEST(InspectionTest, KnowsNoEndOfChunksAndOfOtherProtocols) {
  const Inspection chunks =
      Http("Host: a.com\r\nTransfer-Encoding: chunked\r\n", "5\r\n");
  EXPECT_EQ(chunks.rest, kUnlimited);
  EXPECT_EQ(chunks.first,
            "GET / HTTP/1.1\r\nHost: a.com\r\nTransfer-Encoding: chunked\r\n"
            "Connection: close\r\n\r\n5\r\n");
  EXPECT_EQ(Http("Host: a.com\r\nConnection: upgrade\r\n"
                 "Upgrade: websocket\r\n")
                .rest,
            kUnlimited);
}

TEST(InspectionTest, RefusesRequestsForOtherHosts) {
  ExpectRefused(Http("Host: b.com\r\n"), Event::HOST_DIFFERS, "b.com");
  ExpectRefused(Http(""), Event::HOST_DIFFERS, "");
  ExpectRefused(Http("Host: a.com\r\n", "", "http://b.com/"),
                Event::HOST_DIFFERS, "http://b.com/");
  ExpectRefused(Http("Host: b.com\r\n", "", "http://b.com/"),
                Event::HOST_DIFFERS, "b.com");
  ExpectRefused(Inspect("SSH-2.0-x\r\n", kName), Event::NOT_WEB, "");
}

TEST(InspectionTest, FiltersAChunkedBodyThatHasBegun) {
  const std::string fields = "Host: a.com\r\nTransfer-Encoding: chunked\r\n";
  const Inspection whole = Http(fields, "0\r\n\r\nGET");
  ASSERT_EQ(whole.state, State::kAccepted);
  ASSERT_NE(whole.body, nullptr);
  EXPECT_EQ(whole.body->state(), ByteFilter::State::kDone);
  EXPECT_EQ(whole.first.substr(whole.first.size() - 9), "\r\n\r\n0\r\n\r\n");
  const Inspection begun = Http(fields, "1\r\n");
  ASSERT_EQ(begun.state, State::kAccepted);
  EXPECT_EQ(begun.body->state(), ByteFilter::State::kFiltering);
  EXPECT_NE(begun.answer, nullptr);
  ExpectRefused(Http(fields, "x"), Event::NOT_WEB, "");
}

TEST(InspectionTest, FiltersNothingAfterAnUpgrade) {
  const Inspection upgrade = Http(
      "Host: a.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", "bytes");
  ASSERT_EQ(upgrade.state, State::kAccepted);
  EXPECT_EQ(upgrade.body, nullptr);
  EXPECT_EQ(upgrade.rest, kUnlimited);
  EXPECT_EQ(upgrade.first.substr(upgrade.first.size() - 9), "\r\n\r\nbytes");
}

}  // namespace
}  // namespace egress
