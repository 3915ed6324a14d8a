#include "sandbox/supervisor/storage_status.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;

class StorageStatusTest : public ::testing::Test {
 protected:
  // The failure at each change.
  std::vector<std::string> changes_;
  StorageStatus status_{[this] { changes_.push_back(status_.failure()); }};
  const int first_ = 0;
  const int second_ = 0;
};

TEST_F(StorageStatusTest, ChangesWithTheFirstFailureAndTheLastSuccess) {
  status_.Succeed(&first_);
  EXPECT_THAT(changes_, ElementsAre());
  status_.Fail(&first_, "records", absl::UnavailableError("no space"));
  status_.Fail(&second_, "output", absl::UnavailableError("no space"));
  status_.Succeed(&first_);
  EXPECT_EQ(status_.failure(), "output: no space");
  status_.Succeed(&first_);
  EXPECT_THAT(changes_, ElementsAre("records: no space"));
  status_.Succeed(&second_);
  EXPECT_THAT(changes_, ElementsAre("records: no space", ""));
}

TEST_F(StorageStatusTest, KeepsTheFirstReasonOfAWriter) {
  status_.Fail(&first_, "records", absl::UnavailableError("no space"));
  status_.Fail(&first_, "records", absl::UnavailableError("read-only"));
  EXPECT_EQ(status_.failure(), "records: no space");
  EXPECT_EQ(changes_.size(), 1u);
  status_.Succeed(&first_);
  status_.Fail(&first_, "records", absl::UnavailableError("read-only"));
  EXPECT_EQ(status_.failure(), "records: read-only");
}

}  // namespace
}  // namespace sandbox
