#include "bridge/gate/audit_log.h"

#include <sys/stat.h>

#include <string>

#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::tests::IsOk;

TEST(AuditLogTest, WritesADecisionBehindEarlierLines) {
  const std::string file = ::testing::TempDir() + "/decisions.jsonl";
  tests::WriteFile(file, "earlier\n");
  auto log = AuditLog::Open(file);
  EXPECT_EQ(log->path(), file);
  EXPECT_THAT(
      log->WriteDecision({"s", {"make", "all"}, "/w", "ASK", false, "user"}),
      IsOk());
  EXPECT_THAT(tests::ReadFile(file),
              ::testing::MatchesRegex(
                  "earlier\n"
                  "\\{\"time\":\"20[0-9-]{8}T[0-9:]{8}[.][0-9]{3}Z\","
                  "\"event\":\"decision\",\"session\":\"s\","
                  "\"argv\":\\[\"make\",\"all\"\\],\"cwd\":\"/w\","
                  "\"decision\":\"ASK\",\"allowed\":false,"
                  "\"by\":\"user\"\\}\n"));
}

TEST(AuditLogTest, WritesHowACommandEnded) {
  const std::string file = ::testing::TempDir() + "/ends.jsonl";
  auto log = AuditLog::Open(file);
  ASSERT_THAT(log.status(), IsOk());
  corral::v1::Execution ended;
  ended.mutable_exit()->set_signal(9);
  ended.mutable_exit()->set_cause(corral::v1::ExitStatus::OUT_OF_MEMORY);
  ended.mutable_usage()->mutable_wall_time()->set_nanos(500'000'000);
  ended.mutable_usage()->mutable_user_time()->set_seconds(2);
  ended.mutable_usage()->mutable_system_time()->set_nanos(250'000'000);
  ended.mutable_usage()->set_memory_peak_bytes(7);
  ended.mutable_usage()->set_disk_written_bytes(512);
  EXPECT_THAT(
      log->WriteEnd({"s", {"make", "\xff"}, "/w", "a/executions/b"}, &ended),
      IsOk());
  const Json line = ParseJson(tests::ReadFile(file)).value_or(nullptr);
  EXPECT_EQ(line["event"], "end");
  EXPECT_EQ(line["argv"][1], "\xEF\xBF\xBD");
  EXPECT_EQ(line["sandbox"], "a");
  EXPECT_EQ(line["execution"], "a/executions/b");
  EXPECT_EQ(line["exit"], (Json{{"signal", 9}, {"cause", "OUT_OF_MEMORY"}}));
  EXPECT_EQ(line["usage"], (Json{{"wall_seconds", 0.5},
                                 {"user_seconds", 2.0},
                                 {"system_seconds", 0.25},
                                 {"memory_peak_bytes", 7},
                                 {"disk_read_bytes", 0},
                                 {"disk_written_bytes", 512}}));
  struct stat state = {};
  ASSERT_EQ(::stat(file.c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0600u);
}

TEST(AuditLogTest, WritesThatAnEndIsNotKnown) {
  const std::string file = ::testing::TempDir() + "/unknown.jsonl";
  auto log = AuditLog::Open(file);
  EXPECT_THAT(log->WriteEnd({"s", {"x"}, "/w", "a/executions/b"}, nullptr),
              IsOk());
  const Json line = ParseJson(tests::ReadFile(file)).value_or(nullptr);
  EXPECT_TRUE(line["exit"].is_null());
  EXPECT_FALSE(line.contains("usage"));
}

TEST(AuditLogTest, WritesNoEndOfACommandThatDidNotStart) {
  const std::string file = ::testing::TempDir() + "/failed.jsonl";
  auto log = AuditLog::Open(file);
  const corral::v1::Execution failed;
  EXPECT_THAT(log->WriteEnd({"s", {"x"}, "/w", "a/executions/b"}, &failed),
              IsOk());
  const Json line = ParseJson(tests::ReadFile(file)).value_or(nullptr);
  EXPECT_TRUE(line["exit"].is_null());
  EXPECT_FALSE(line.contains("usage"));
}

TEST(AuditLogTest, WritesWhichHostMayBeReached) {
  const std::string file = ::testing::TempDir() + "/hosts.jsonl";
  auto log = AuditLog::Open(file);
  EXPECT_THAT(log->WriteHost({"s", "box", "a.example", true, "user"}), IsOk());
  EXPECT_THAT(
      tests::ReadFile(file),
      ::testing::EndsWith(R"("event":"host","session":"s","sandbox":"box",)"
                          R"("host":"a.example","allowed":true,"by":"user"})"
                          "\n"));
}

TEST(AuditLogTest, FailsIfALineCannotBeWritten) {
  auto full = AuditLog::Open("/dev/full");
  EXPECT_EQ(full->WriteDecision({"s", {"x"}, "/w", "ALLOW", true, "rule 1"})
                .message(),
            "the audit log /dev/full cannot be written");
  EXPECT_FALSE(AuditLog::Open("/nonexistent/log").ok());
  EXPECT_THAT(
      AuditLog().WriteDecision({"s", {"x"}, "/w", "ALLOW", true, "rule 1"}),
      IsOk());
}

}  // namespace
}  // namespace bridge
