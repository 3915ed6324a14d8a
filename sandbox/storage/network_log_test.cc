#include "sandbox/storage/network_log.h"

#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/small_file.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::corral::egress::v1::Event;
using ::testing::IsEmpty;
using ::tests::IsOk;

class NetworkLogTest : public ::testing::Test {
 protected:
  NetworkLogTest() {
    std::string name = ::testing::TempDir() + "network_log_XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }

  void Append(NetworkLog& log, const std::string& host) {
    Event event;
    event.set_host(host);
    EXPECT_THAT(log.Append(event), IsOk());
  }

  std::vector<std::string> Hosts(uint64_t after, size_t most) {
    std::vector<std::string> hosts;
    const auto events = ReadNetworkLog(directory_, after, most);
    EXPECT_THAT(events.status(), IsOk());
    for (const Event& event : *events) {
      hosts.push_back(absl::StrCat(event.number(), " ", event.host()));
    }
    return hosts;
  }

  std::string directory_;
};

TEST_F(NetworkLogTest, ReturnsTheEventsInOrderWithTheirNumbers) {
  EXPECT_THAT(Hosts(0, 10), IsEmpty());
  NetworkLog log = *NetworkLog::Create(directory_);
  EXPECT_THAT(Hosts(0, 10), IsEmpty());
  for (const char* host : {"a", "b", "c"}) {
    Append(log, host);
  }
  EXPECT_THAT(Hosts(0, 10), ::testing::ElementsAre("1 a", "2 b", "3 c"));
  EXPECT_THAT(Hosts(1, 1), ::testing::ElementsAre("2 b"));
  EXPECT_THAT(Hosts(3, 10), IsEmpty());
}

TEST_F(NetworkLogTest, KeepsTheLatestEventsAndStaysSmall) {
  NetworkLog log = *NetworkLog::Create(directory_);
  const std::string host(200, 'x');
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) {
    Append(log, host);
  }
  const auto events = *ReadNetworkLog(directory_, 0, kCount);
  EXPECT_EQ(events.back().number(), static_cast<uint64_t>(kCount));
  EXPECT_EQ(events.size(), kCount - events.front().number() + 1);
  EXPECT_GT(events.size() * host.size(), NetworkLog::kMaxFile / 2);
  for (const char* name : {"/network.log", "/network.log.old"}) {
    struct stat status;
    ASSERT_EQ(::stat((directory_ + name).c_str(), &status), 0);
    EXPECT_LE(status.st_size, static_cast<off_t>(NetworkLog::kMaxFile));
  }
}

TEST_F(NetworkLogTest, IgnoresATornEvent) {
  NetworkLog log = *NetworkLog::Create(directory_);
  Append(log, "a");
  Append(log, "b");
  const std::string path = directory_ + "/network.log";
  const std::string content = *ReadSmallFile(path);
  for (size_t size = 0; size < content.size(); ++size) {
    EXPECT_THAT(
        ReplaceFile(path, content.substr(0, size), Durability::kProcess),
        IsOk());
    EXPECT_EQ(Hosts(0, 10).size(), size < content.size() / 2 ? 0U : 1U);
  }
}

}  // namespace
}  // namespace sandbox
