#include "sandbox/egress/name_table.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"

namespace egress {
namespace {

using ::testing::Optional;

class NameTableTest : public ::testing::Test {
 protected:
  NameTable Open() { return *NameTable::Open(file_); }
  // Writes the entry of a name into the file.
  void Write(size_t slot, uint32_t number, const std::string& name) {
    std::string entry(reinterpret_cast<const char*>(&number), sizeof(number));
    entry.push_back(static_cast<char>(name.size()));
    entry += name;
    const size_t at = sizeof(uint32_t) + slot * 260;
    EXPECT_EQ(::pwrite(file_.get(), entry.data(), entry.size(),
                       static_cast<off_t>(at)),
              static_cast<ssize_t>(entry.size()));
  }
  static bool IsMapped() {
    std::ifstream maps("/proc/self/maps");
    const std::string all{std::istreambuf_iterator<char>(maps), {}};
    return absl::StrContains(all, "corral-names");
  }

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
  EXPECT_EQ(table.Add("a.example").v4, address);
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

TEST_F(NameTableTest, KeepsEntriesOfValidNamesAtTheirPlaceAlone) {
  constexpr uint32_t kLast = 131070;
  Write(kLast % NameTable::kSlots, kLast, "last.example");
  Write(1, 1, "Upper.example");
  Write(2, 2 + NameTable::kSlots, "second.example");
  Write(3, 4, "elsewhere.example");
  Write(0, 0, "free.example");
  Write((kLast + 1) % NameTable::kSlots, kLast + 1, "beyond.example");
  NameTable table = Open();
  const auto find = [&](const char* address) {
    return table.Find(*IpAddress::Parse(address)).value_or("none");
  };
  EXPECT_EQ(find("198.19.255.254"), "last.example");
  EXPECT_EQ(find("198.18.0.1"), "none");
  EXPECT_EQ(find("198.18.16.2"), "second.example");
  EXPECT_EQ(find("198.19.255.255"), "none");
  EXPECT_EQ(table.Add("last.example").v4.ToString(), "198.19.255.254");
  EXPECT_EQ(table.Add("elsewhere.example").v4.ToString(), "198.18.0.1");
  EXPECT_EQ(table.Add("free.example").v4.ToString(), "198.18.0.2");
  EXPECT_EQ(table.Add("beyond.example").v4.ToString(), "198.18.0.3");
  // A new name has taken its slot.
  EXPECT_EQ(find("198.18.16.2"), "none");
  EXPECT_EQ(table.Add("second.example").v4.ToString(), "198.18.0.4");
}

TEST_F(NameTableTest, IsMappedUntilItsEnd) {
  {
    const NameTable table = Open();
    EXPECT_TRUE(IsMapped());
  }
  EXPECT_FALSE(IsMapped());
}

TEST_F(NameTableTest, NeedsAFile) {
  EXPECT_FALSE(NameTable::Open(sandbox::UniqueFd()).ok());
  for (const int call : {SYS_memfd_create, SYS_ftruncate}) {
    absl::Status made;
    if (!tests::WithFailingCalls(
            {call}, ENOMEM, [&] { made = NameTable::MakeFile().status(); })) {
      GTEST_SKIP() << "this host allows no filter";
    }
    EXPECT_FALSE(made.ok()) << call;
  }
}

}  // namespace
}  // namespace egress
