#include "bridge/jsonrpc/finite_numbers.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

constexpr char kLargest[] = "1.7976931348623157e308";

TEST(FiniteNumbersTest, ReplacesNumbersThatAreTooLarge) {
  EXPECT_EQ(WithFiniteNumbers("1e400"), kLargest);
  EXPECT_EQ(WithFiniteNumbers(R"([-2.5E+999,{"1e400":"\"1e400"},1])"),
            std::string("[-") + kLargest + R"(,{"1e400":"\"1e400"},1])");
  EXPECT_EQ(WithFiniteNumbers(std::string(400, '9')), kLargest);
}

TEST(FiniteNumbersTest, LeavesEverythingElseAlone) {
  for (const char* text :
       {"", "1", "-0.0", "1e-400", "9007199254740993", R"("1e400)", "01e400",
        "1.e400", "1e400e", "-e400", "[1e+]", "\"\\"}) {
    EXPECT_EQ(WithFiniteNumbers(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace bridge
