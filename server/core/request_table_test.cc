#include "server/core/request_table.h"

#include <memory>
#include <string>
#include <utility>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using corral::supervisor::v1::RequestIdentity;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Thing {
 public:
  Thing(std::string id, RequestIdentity request)
      : id_(std::move(id)), request_(std::move(request)) {}
  const std::string& id() const { return id_; }
  const RequestIdentity& request() const { return request_; }

 private:
  const std::string id_;
  const RequestIdentity request_;
};

using Table = RequestTable<Thing>;
using Match = Table::Match;

RequestIdentity Request(const std::string& id, const std::string& digest) {
  RequestIdentity request;
  request.set_request_id(id);
  request.set_digest(digest);
  return request;
}

std::shared_ptr<Thing> MakeThing(const std::string& id,
                                 const std::string& request_id,
                                 const std::string& digest) {
  return std::make_shared<Thing>(id, Request(request_id, digest));
}

TEST(RequestTable, FindsNothingForAFirstRequest) {
  Table table;
  table.Insert(MakeThing("a", "r", "digest"));
  const Table::Found found = table.FindSame("b", Request("s", "digest"));
  EXPECT_EQ(found.match, Match::kNone);
  EXPECT_EQ(found.resource, nullptr);
}

TEST(RequestTable, FindsByRequestIdWhateverTheResourceId) {
  Table table;
  const auto thing = MakeThing("a", "r", "digest");
  table.Insert(thing);
  const Table::Found found = table.FindSame("made-up", Request("r", "digest"));
  EXPECT_EQ(found.match, Match::kSame);
  EXPECT_EQ(found.resource, thing);
}

TEST(RequestTable, FindsByResourceIdWithoutARequestId) {
  Table table;
  const auto thing = MakeThing("a", "", "digest");
  table.Insert(thing);
  EXPECT_EQ(table.FindSame("a", Request("", "digest")).match, Match::kSame);
  EXPECT_EQ(table.FindSame("b", Request("", "digest")).match, Match::kNone);
}

TEST(RequestTable, DistinguishesAReusedRequestIdFromATakenId) {
  Table table;
  const auto thing = MakeThing("a", "r", "digest");
  table.Insert(thing);
  const Table::Found reused = table.FindSame("b", Request("r", "other"));
  EXPECT_EQ(reused.match, Match::kOtherRequest);
  EXPECT_EQ(reused.resource, thing);
  const Table::Found taken = table.FindSame("a", Request("s", "other"));
  EXPECT_EQ(taken.match, Match::kIdTaken);
  EXPECT_EQ(taken.resource, thing);
}

TEST(RequestTable, LetsTheRequestIdDecideBeforeTheResourceId) {
  Table table;
  const auto first = MakeThing("a", "r", "digest");
  table.Insert(first);
  table.Insert(MakeThing("b", "s", "other"));
  const Table::Found found = table.FindSame("b", Request("r", "digest"));
  EXPECT_EQ(found.match, Match::kSame);
  EXPECT_EQ(found.resource, first);
}

TEST(RequestTable, RefusesATakenIdAndKeepsWhatHasIt) {
  Table table;
  const auto first = MakeThing("a", "r", "digest");
  EXPECT_TRUE(table.Insert(first));
  EXPECT_FALSE(table.Insert(MakeThing("a", "s", "other")));
  EXPECT_EQ(table.Find("a"), first);
  EXPECT_EQ(table.FindSame("b", Request("s", "other")).match, Match::kNone);
}

TEST(RequestTable, FreesBothIdsOnErasure) {
  Table table;
  const auto thing = MakeThing("a", "r", "digest");
  table.Insert(thing);
  EXPECT_EQ(table.Erase("a"), thing);
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.Find("a"), nullptr);
  EXPECT_EQ(table.FindSame("a", Request("r", "digest")).match, Match::kNone);
  EXPECT_EQ(table.Erase("a"), nullptr);
}

TEST(RequestTable, KeepsTheFirstResourceOfARequestIdThatIsUsedTwice) {
  Table table;
  const auto first = MakeThing("a", "r", "digest");
  table.Insert(first);
  table.Insert(MakeThing("b", "r", "digest"));
  table.Erase("b");
  EXPECT_EQ(table.FindSame("", Request("r", "digest")).resource, first);
}

TEST(RequestTable, ListsInTheOrderOfIdsUpToALimit) {
  Table table;
  const auto a = MakeThing("a", "", "");
  const auto b = MakeThing("b", "", "");
  const auto c = MakeThing("c", "", "");
  table.Insert(c);
  table.Insert(a);
  table.Insert(b);
  EXPECT_THAT(table.ListFrom("b", 5), ElementsAre(b, c));
  EXPECT_THAT(table.ListAfter("b", 5), ElementsAre(c));
  EXPECT_THAT(table.ListFrom("", 2), ElementsAre(a, b));
  EXPECT_THAT(table.ListAfter("c", 5), IsEmpty());
}

}  // namespace
}  // namespace server
