#include "sandbox/supervisor/oom_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {
namespace {

constexpr uint32_t kIds = 0x70010000;
// 0x70010000 + 1000
constexpr char kOfTheSandbox[] =
    "3,31676,25470421655,-;Memory cgroup out of memory: Killed process 23495 "
    "(tail) total-vm:34940kB, anon-rss:32128kB, file-rss:1488kB, "
    "shmem-rss:0kB, UID:1879114728 pgtables:112kB oom_score_adj:0\n";
constexpr char kOfAnother[] =
    "3,31676,25470421655,-;Memory cgroup out of memory: Killed process 23495 "
    "(UID:1879114728) total-vm:34940kB, anon-rss:32128kB, file-rss:1488kB, "
    "shmem-rss:0kB, UID:2076050408 pgtables:112kB oom_score_adj:0\n";

TEST(OomLogTest, DistinguishesTheVictimFromAnotherProcess) {
  OomLog victim(23495, kIds);
  victim.Take(kOfTheSandbox);
  EXPECT_TRUE(victim.MayBeVictim());
  OomLog bystander(23496, kIds);
  bystander.Take(kOfTheSandbox);
  EXPECT_FALSE(bystander.MayBeVictim());
}

TEST(OomLogTest, FindsTheVictimAmongOthers) {
  OomLog log(7, kIds);
  log.Take(kOfTheSandbox);
  log.Take(
      "3,1,2,-;Memory cgroup out of memory: Killed process 7 (sh) "
      "total-vm:1kB, UID:1879114728 pgtables:1kB");
  log.Take(kOfTheSandbox);
  EXPECT_TRUE(log.MayBeVictim());
}

TEST(OomLogTest, AssumesAVictimIfTheLogNamesNobodyOfTheSandbox) {
  OomLog log(1, kIds);
  log.Take(kOfAnother);
  log.Take("6,29601,21637883282,-;oom-kill:constraint=CONSTRAINT_MEMCG,pid=2");
  log.Take("");
  log.Take(
      ";Memory cgroup out of memory: Killed process x (sh) UID:1879114728");
  EXPECT_TRUE(log.MayBeVictim());
}

TEST(OomLogTest, TakesAllRecordsOfAFile) {
  int ends[2];
  // Each write(2) is a record.
  ASSERT_EQ(::pipe2(ends, O_DIRECT | O_NONBLOCK | O_CLOEXEC), 0);
  const UniqueFd records(ends[0]);
  const UniqueFd writer(ends[1]);
  for (const absl::string_view record : {kOfAnother, kOfTheSandbox}) {
    ASSERT_EQ(::write(writer.get(), record.data(), record.size()),
              static_cast<ssize_t>(record.size()));
  }
  OomLog bystander(7, kIds);
  bystander.TakeAll(records);
  EXPECT_FALSE(bystander.MayBeVictim());
  OomLog without_records(7, kIds);
  without_records.TakeAll(records);
  without_records.TakeAll(UniqueFd());
  EXPECT_TRUE(without_records.MayBeVictim());
}

TEST(OomLogTest, KnowsTheFirstAndTheLastUserOfTheSandbox) {
  const auto names_another = [](uint32_t user) {
    OomLog log(1, kIds);
    log.Take(
        absl::StrCat("Memory cgroup out of memory: Killed process 2 (sh) "
                     "total-vm:1kB, UID:",
                     user, " pgtables:1kB"));
    return !log.MayBeVictim();
  };
  EXPECT_FALSE(names_another(kIds - 1));
  EXPECT_TRUE(names_another(kIds));
  EXPECT_TRUE(names_another(kIds + 65535));
  EXPECT_FALSE(names_another(kIds + 65536));
}

TEST(OomLogTest, AssumesAVictimThatTheKernelDoesNotName) {
  OomLog log(7, kIds);
  log.Take("Memory cgroup out of memory: Killed process 8 (sh) total-vm:1kB");
  EXPECT_TRUE(log.MayBeVictim());
  // A process that never was.
  EXPECT_TRUE(MayBeOomVictim(-1, 4000000000));
}

}  // namespace
}  // namespace sandbox
