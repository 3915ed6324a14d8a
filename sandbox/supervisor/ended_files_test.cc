#include "sandbox/supervisor/ended_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/supervisor/ended_execution_fixture.h"
#include "sandbox/supervisor/execution_files.h"

namespace sandbox {
namespace {

using ::testing::UnorderedElementsAre;

class EndedFilesTest : public EndedExecutionFixture {
 protected:
  // Makes an execution whose record of the end has the log as it was before
  // its last four bytes.
  ExecutionFiles MakeLate(const std::string& id) {
    ExecutionFiles files = *ExecutionFiles::Create(parent_, id);
    wire::ExecutionRecord end;
    end.set_id(id);
    EXPECT_TRUE(files.WriteStart(end).ok());
    OutputLogWriter log = files.Log(wire::STDOUT);
    EXPECT_TRUE(log.Append("text", 4).ok());
    end.set_state(wire::ExecutionRecord::EXITED);
    end.add_streams()->set_stream(wire::STDOUT);
    EXPECT_TRUE(files.WriteEnd(SealRecord(end)).ok());
    log.Close();
    return files;
  }
};

TEST_F(EndedFilesTest, HaveTheEndAndWhatTheLogsHoldNow) {
  MakeLate("e1");
  absl::StatusOr<wire::ExecutionRecord> end = ReadEnded(parent_, "e1");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(end->streams(0).begin(), 0u);
  EXPECT_EQ(end->streams(0).end(), 4u);
  EXPECT_TRUE(end->streams(0).closed());
  EXPECT_FALSE(end->streams(0).expired());
  ASSERT_TRUE(ExpireOutputLog(parent_ + "/e1", wire::STDOUT).ok());
  end = ReadEnded(parent_, "e1");
  EXPECT_EQ(end->streams(0).begin(), 4u);
  EXPECT_TRUE(end->streams(0).expired());
}

TEST_F(EndedFilesTest, AreAbsentOrCannotBeReadNow) {
  EXPECT_TRUE(absl::IsNotFound(ReadEnded(parent_, "e1").status()));
  std::filesystem::create_directory(parent_ + "/directory");
  std::ofstream(parent_ + "/torn") << "torn";
  MakeLate("e1");
  std::filesystem::rename(parent_ + "/e1", parent_ + "/of-another");
  for (const char* id : {"directory", "torn", "of-another"}) {
    const absl::Status status = ReadEnded(parent_, id).status();
    EXPECT_FALSE(status.ok() || absl::IsNotFound(status)) << status;
  }
}

TEST_F(EndedFilesTest, AreListedWithoutThoseBesideThem) {
  MakeEnded("e1");
  MakeEnded("e2");
  std::ofstream(parent_ + "/e1.out") << "rest";
  std::ofstream(parent_ + "/.spare-1") << "spare";
  EXPECT_THAT(*ListExecutions(parent_), UnorderedElementsAre("e1", "e2"));
  EXPECT_FALSE(ListExecutions(parent_ + "/absent").ok());
}

}  // namespace
}  // namespace sandbox
