#include "sandbox/storage/network_log.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/small_file.h"
#include "tests/failing_calls.h"
#include "tests/file_size_limit.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::corral::egress::v1::Event;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::IsOk;
using ::tests::StatusIs;

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

TEST_F(NetworkLogTest, ContinuesAfterAnEventThatTheDiskRefused) {
  NetworkLog log = *NetworkLog::Create(directory_);
  Append(log, "a");
  absl::Status refused;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_write}, ENOSPC,
                                      [&] { refused = log.Append(Event()); }));
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("write " + directory_)));
  Append(log, "c");
  EXPECT_THAT(Hosts(0, 10), ::testing::ElementsAre("1 a", "3 c"));
}

TEST_F(NetworkLogTest, HidesNoEventBehindOneThatIsIncomplete) {
  NetworkLog log = *NetworkLog::Create(directory_);
  Append(log, "a");
  const std::string path = directory_ + "/network.log";
  const size_t size = ReadSmallFile(path)->size();
  Event large;
  large.set_host(std::string(1000, 'x'));
  absl::Status refused;
  {
    const tests::FileSizeLimit limit(size + 10);
    refused = log.Append(large);
  }
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("write " + directory_)));
  EXPECT_EQ(ReadSmallFile(path)->size(), size);
  // Nor if the disk does not let it go.
  ASSERT_TRUE(tests::WithFailingCalls({SYS_ftruncate}, EIO, [&] {
    const tests::FileSizeLimit limit(size + 10);
    refused = log.Append(large);
  }));
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(ReadSmallFile(path)->size(), size + 10);
  Append(log, "d");
  EXPECT_THAT(Hosts(0, 10), ::testing::ElementsAre("1 a", "4 d"));
}

TEST_F(NetworkLogTest, BeginsAnewWhenItIsCreatedAgain) {
  NetworkLog first = *NetworkLog::Create(directory_);
  Append(first, "a");
  NetworkLog second = *NetworkLog::Create(directory_);
  Append(second, "b");
  EXPECT_THAT(Hosts(0, 10), ::testing::ElementsAre("1 b"));
}

TEST_F(NetworkLogTest, FillsItsFileBeforeItBeginsAnother) {
  NetworkLog log = *NetworkLog::Create(directory_);
  const std::string path = directory_ + "/network.log";
  const std::string host(1000, 'x');
  size_t size = 0;
  size_t record = 0;
  while (size + 2 * host.size() + 100 <= NetworkLog::kMaxFile) {
    Append(log, host);
    record = ReadSmallFile(path)->size() - size;
    size += record;
  }
  // The next event fits exactly.
  Append(log,
         std::string(host.size() + NetworkLog::kMaxFile - size - record, 'x'));
  EXPECT_EQ(ReadSmallFile(path)->size(), NetworkLog::kMaxFile);
  EXPECT_FALSE(ReadSmallFile(path + ".old").ok());
  Append(log, "y");
  EXPECT_EQ(ReadSmallFile(path + ".old")->size(), NetworkLog::kMaxFile);
  EXPECT_LT(ReadSmallFile(path)->size(), 100U);
  // Both files together are read in order, and no event twice.
  const auto events = *ReadNetworkLog(directory_, 0, 1 << 20);
  for (size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(events[i].number(), i + 1);
  }
  EXPECT_EQ(events.back().host(), "y");
  EXPECT_EQ(ReadNetworkLog(directory_, 0, events.size())->size(),
            events.size());
  EXPECT_EQ(ReadNetworkLog(directory_, events.size() - 2, 100)->size(), 2U);
}

TEST_F(NetworkLogTest, KeepsItsFileUntilItCanBeRenamed) {
  NetworkLog log = *NetworkLog::Create(directory_);
  const std::string path = directory_ + "/network.log";
  Append(log, std::string(NetworkLog::kMaxFile - 100, 'x'));
  Event next;
  next.set_host(std::string(200, 'y'));
  absl::Status refused;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_rename}, EIO,
                                      [&] { refused = log.Append(next); }));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("rename " + path));
  EXPECT_FALSE(ReadSmallFile(path + ".old").ok());
  EXPECT_THAT(log.Append(next), IsOk());
  EXPECT_THAT(ReadSmallFile(path + ".old").status(), IsOk());
  EXPECT_EQ(ReadNetworkLog(directory_, 0, 10)->back().number(), 3u);
}

TEST_F(NetworkLogTest, IgnoresEverythingBehindADamagedEvent) {
  NetworkLog log = *NetworkLog::Create(directory_);
  Append(log, "a");
  {
    // Its size is right, its content is not.
    const uint32_t size = 2;
    std::ofstream file(directory_ + "/network.log",
                       std::ios::binary | std::ios::app);
    file.write(reinterpret_cast<const char*>(&size), sizeof(size));
    file << "\xff\xff";
  }
  Append(log, "c");
  EXPECT_THAT(Hosts(0, 10), ::testing::ElementsAre("1 a"));
}

TEST_F(NetworkLogTest, ReturnsNoEventTwiceThatBothFilesHold) {
  NetworkLog log = *NetworkLog::Create(directory_);
  Append(log, "a");
  Append(log, "b");
  // A reader may find this while the file is renamed.
  const std::string path = directory_ + "/network.log";
  std::filesystem::copy_file(path, path + ".old");
  Append(log, "c");
  EXPECT_THAT(Hosts(0, 10), ::testing::ElementsAre("1 a", "2 b", "3 c"));
}

TEST_F(NetworkLogTest, ReportsAFileThatCannotBeRead) {
  for (const char* name : {"/network.log", "/network.log.old"}) {
    std::filesystem::create_directory(directory_ + name);
    EXPECT_THAT(
        std::string(ReadNetworkLog(directory_, 0, 10).status().message()),
        HasSubstr(directory_ + name));
    std::filesystem::remove(directory_ + name);
  }
}

TEST_F(NetworkLogTest, NamesAFileThatCannotBeOpened) {
  EXPECT_THAT(NetworkLog::Create("/nowhere").status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("open /nowhere/network.log")));
}

}  // namespace
}  // namespace sandbox
