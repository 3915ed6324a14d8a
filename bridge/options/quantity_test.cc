#include "bridge/options/quantity.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(QuantityTest, ParsesBytes) {
  const std::vector<std::pair<std::string, uint64_t>> cases = {
      {"100", 100},
      {"512M", 512 << 20},
      {"64k", 65536},
      {"1.5G", uint64_t{3} << 29},
      {"7B", 7},
      {"3KB", 3072},
      {"2TiB", uint64_t{2} << 40},
      {"8192P", uint64_t{1} << 63}};
  for (const auto& [text, bytes] : cases) {
    EXPECT_EQ(*ParseBytes(text), bytes) << text;
  }
}

TEST(QuantityTest, RefusesTextThatIsNotASize) {
  for (const char* text :
       {"", "M", "12Q", "-1", "+1", "1.5", "1..5G", " 1", "1 M", "1e3", "0x10",
        "inf", "nan", "1MM", "99999999999999999999999", "9999999P", "8193P"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

TEST(QuantityTest, ParsesDurations) {
  const std::vector<std::pair<std::string, absl::Duration>> cases = {
      {"30s", absl::Seconds(30)},
      {"250ms", absl::Milliseconds(250)},
      {"5m", absl::Minutes(5)},
      {"2d", absl::Hours(48)},
      {"30", absl::Seconds(30)},
      {"1h30m", absl::Minutes(90)},
      {"1.5s", absl::Milliseconds(1500)},
      {"9007199254740992s", absl::Seconds(int64_t{1} << 53)}};
  for (const auto& [text, duration] : cases) {
    EXPECT_EQ(*ParseDuration(text), duration) << text;
  }
}

TEST(QuantityTest, RefusesTextThatIsNotADuration) {
  for (const char* text : {"", "s", "1y", "-1s", "1 s", "s1", "1e9s", "inf",
                           "9007199254740994s"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(QuantityTest, ParsesCpus) {
  EXPECT_EQ(*ParseCpuMillis("1.5"), 1500);
  EXPECT_EQ(*ParseCpuMillis("2"), 2000);
  EXPECT_EQ(*ParseCpuMillis("0.01"), 10);
  EXPECT_EQ(*ParseCpuMillis("1.9996"), 2000);
  EXPECT_EQ(*ParseCpuMillis("9007199254740"), 9007199254740000);
}

TEST(QuantityTest, RefusesTextThatIsNotANumberOfCpus) {
  for (const char* text : {"", "1.5x", "-1", "inf", ".5", "9007199254741"}) {
    EXPECT_FALSE(ParseCpuMillis(text).ok()) << text;
  }
}

TEST(QuantityTest, ParsesCounts) {
  EXPECT_EQ(*ParseCount("0"), 0);
  EXPECT_EQ(*ParseCount("18446744073709551615"), ~uint64_t{0});
  for (const char* text : {"", "-1", "+1", "1.0", "18446744073709551616"}) {
    EXPECT_FALSE(ParseCount(text).ok()) << text;
  }
}

TEST(QuantityTest, FormatsBytes) {
  EXPECT_EQ(FormatBytes(100), "100 bytes");
  EXPECT_EQ(FormatBytes(1023), "1023 bytes");
  EXPECT_EQ(FormatBytes(1024), "1 KiB");
  EXPECT_EQ(FormatBytes(512 << 20), "512 MiB");
  EXPECT_EQ(FormatBytes(uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(FormatBytes(1 << 20), "1 MiB");
  EXPECT_EQ(FormatBytes(uint64_t{2} << 50), "2 PiB");
  EXPECT_EQ(FormatBytes(uint64_t{2} << 60), "2048 PiB");
}

TEST(QuantityTest, FormatsAges) {
  EXPECT_EQ(FormatAge(absl::Seconds(-1)), "0s");
  EXPECT_EQ(FormatAge(absl::Seconds(59)), "59s");
  EXPECT_EQ(FormatAge(absl::Seconds(60)), "1m0s");
  EXPECT_EQ(FormatAge(absl::Seconds(125)), "2m5s");
  EXPECT_EQ(FormatAge(absl::Seconds(3599)), "59m59s");
  EXPECT_EQ(FormatAge(absl::Seconds(3600)), "1h0m");
  EXPECT_EQ(FormatAge(absl::Seconds(86399)), "23h59m");
  EXPECT_EQ(FormatAge(absl::Seconds(86400)), "1d0h");
  EXPECT_EQ(FormatAge(absl::Hours(76)), "3d4h");
}

}  // namespace
}  // namespace bridge
