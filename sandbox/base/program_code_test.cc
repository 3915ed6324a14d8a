#include "sandbox/base/program_code.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace sandbox {
namespace {

// Returns the kilobytes of code of this process that are in its memory.
int CodeInMemory() {
  std::ifstream file("/proc/self/smaps");
  int sum = 0;
  bool code = false;
  for (std::string line; std::getline(file, line);) {
    if (absl::StrContains(line, " r-xp ")) {
      code = true;
    } else if (absl::StrContains(line, "p 0")) {
      code = false;
    } else if (code && absl::StartsWith(line, "Rss:")) {
      sum += std::stoi(line.substr(4));
    }
  }
  return sum;
}

TEST(ProgramCodeTest, IsMappedAgainWhereItIsUsed) {
  const int before = CodeInMemory();
  ForgetCode();
  const int after = CodeInMemory();
  EXPECT_LT(after, before);
  EXPECT_GT(after, 0);
  std::ostringstream text;
  text << "it runs " << before;
  EXPECT_TRUE(absl::StartsWith(text.str(), "it runs"));
}

}  // namespace
}  // namespace sandbox
