#include "sandbox/egress/name_table.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace egress {
namespace {

using ::testing::Optional;

class NameTableTest : public ::testing::Test {
 protected:
  NameTable Open() { return *NameTable::Open(file_); }

  sandbox::UniqueFd file_ = *NameTable::MakeFile();
};

TEST_F(NameTableTest, GivesEachNameAnAddressOfItsOwn) {
  NameTable table = Open();
  const NameTable::Addresses first = table.Add("a.example");
  const NameTable::Addresses second = table.Add("b.example");
  EXPECT_EQ(first.v4.ToString(), "198.18.0.1");
  EXPECT_EQ(first.v6.ToString(), "fdc0:11a1::1");
  EXPECT_EQ(second.v4.ToString(), "198.18.0.2");
  EXPECT_EQ(table.Add("a.example").v4, first.v4);
  EXPECT_THAT(table.Find(first.v4), Optional(std::string("a.example")));
  EXPECT_THAT(table.Find(second.v6), Optional(std::string("b.example")));
}

TEST_F(NameTableTest, KnowsNoOtherAddresses) {
  NameTable table = Open();
  table.Add("a.example");
  for (const char* text : {"198.18.0.0", "198.18.0.2", "198.18.16.1",
                           "127.0.0.1", "0.0.0.1", "fdc0:11a1::", "::1"}) {
    EXPECT_EQ(table.Find(*IpAddress::Parse(text)), std::nullopt) << text;
  }
}

TEST_F(NameTableTest, KeepsItsAddressesWhenItIsOpenedAgain) {
  const IpAddress address = Open().Add("a.example").v4;
  NameTable table = Open();
  EXPECT_THAT(table.Find(address), Optional(std::string("a.example")));
  EXPECT_EQ(table.Add("b.example").v4.ToString(), "198.18.0.2");
}

TEST_F(NameTableTest, ForgetsTheOldestNameAndGivesItsAddressToNoOtherOneSoon) {
  NameTable table = Open();
  const IpAddress oldest = table.Add("oldest.example").v4;
  const IpAddress second = table.Add("second.example").v4;
  for (size_t i = 1; i < NameTable::kSlots; ++i) {
    table.Add(absl::StrCat("n", i, ".example"));
  }
  EXPECT_EQ(table.Find(oldest), std::nullopt);
  EXPECT_THAT(table.Find(second), Optional(std::string("second.example")));
  EXPECT_FALSE(table.Add("oldest.example").v4 == oldest);
}

TEST_F(NameTableTest, UsesEveryAddressBeforeItUsesOneAgain) {
  NameTable table = Open();
  for (int i = 1; i <= 131070; ++i) {
    table.Add(absl::StrCat("n", i, ".example"));
  }
  EXPECT_EQ(table.Add("n131070.example").v4.ToString(), "198.19.255.254");
  EXPECT_EQ(table.Add("next.example").v4.ToString(), "198.18.0.1");
}

TEST_F(NameTableTest, ForgetsDamagedEntries) {
  Open().Add("a.example");
  ASSERT_EQ(::pwrite(file_.get(), "\xff\xff\xff\xff\xff", 5, 264), 5);
  NameTable table = Open();
  EXPECT_EQ(table.Find(*IpAddress::Parse("198.18.0.1")), std::nullopt);
  EXPECT_EQ(table.Add("a.example").v4.ToString(), "198.18.0.2");
}

}  // namespace
}  // namespace egress
