#include "sandbox/supervisor/execution_files.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/terminal_times.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

class ExecutionFilesTest : public ::testing::Test {
 protected:
  ~ExecutionFilesTest() override { std::filesystem::remove_all(parent_); }

  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/execution_filesXXXXXX";
    return ::mkdtemp(path.data());
  }

  const std::string parent_ = MakeDirectory();
};

TEST_F(ExecutionFilesTest, KeepsTheCommandOnceInItsStartRecord) {
  absl::StatusOr<ExecutionFiles> files = ExecutionFiles::Create(parent_, "e1");
  ASSERT_THAT(files.status(), IsOk());
  wire::ExecutionRecord start;
  start.set_id("e1");
  start.mutable_request()->set_request_id("r1");
  start.mutable_command()->add_argv("make");
  start.mutable_command()->add_environment("NAME=value");
  start.mutable_command()->set_original("the client's command");
  start.mutable_command()->set_open_stdin(true);
  ASSERT_THAT(files->WriteStart(start), IsOk());

  wire::ExecutionRecord read;
  ASSERT_THAT(ExecutionRecords::Open(files->path())->ReadStart(&read), IsOk());
  EXPECT_EQ(read.id(), "e1");
  EXPECT_EQ(read.request().request_id(), "r1");
  EXPECT_EQ(read.command().argv_size(), 0);
  EXPECT_EQ(read.command().environment_size(), 0);
  EXPECT_EQ(read.command().original(), "the client's command");
  EXPECT_TRUE(read.command().open_stdin());
}

TEST_F(ExecutionFilesTest, HasOutputOnceAStreamHasAByte) {
  for (const wire::Stream stream : {wire::STDOUT, wire::STDERR}) {
    const std::string name = wire::Stream_Name(stream);
    const ExecutionFiles files = *ExecutionFiles::Create(parent_, name);
    OutputLogWriter log = files.Log(stream);
    EXPECT_FALSE(files.has_output());
    ASSERT_THAT(log.Append("x", 1), IsOk());
    EXPECT_TRUE(files.has_output()) << name;
  }
}

TEST_F(ExecutionFilesTest, HoldsNoDescriptorOnceItsRecordsAreWritten) {
  const size_t before = OpenDescriptors();
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  ASSERT_THAT(files.WriteStart(wire::ExecutionRecord()), IsOk());
  ASSERT_THAT(files.WriteEnd("end"), IsOk());
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(ExecutionFilesTest, HoldsNoDescriptorOnceItIsRemoved) {
  const size_t before = OpenDescriptors();
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  EXPECT_TRUE(files.valid());
  ASSERT_THAT(files.Remove(wire::ExecutionRecord()), IsOk());
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_FALSE(files.valid());
}

TEST_F(ExecutionFilesTest, RemovesEachFileThatAnExecutionCanHave) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  for (const char* suffix : {".out", ".err", kTerminalTimes}) {
    std::ofstream(files.path() + suffix) << "x";
  }
  wire::ExecutionRecord record;
  for (const wire::Stream stream : {wire::TERMINAL, wire::STDERR}) {
    wire::StreamState& state = *record.add_streams();
    state.set_stream(stream);
    state.set_end(PlaceOf(stream).window_size);
  }
  EXPECT_THAT(files.Remove(record), IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(parent_));
}

TEST_F(ExecutionFilesTest, LeavesNothingWhenTheDiskIsFull) {
  absl::Status created;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pwrite64}, ENOSPC, [&] {
    created = ExecutionFiles::Create(parent_, "e1").status();
  }));
  EXPECT_THAT(created, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("write " + parent_ + "/e1")));
  EXPECT_TRUE(std::filesystem::is_empty(parent_));
}

TEST_F(ExecutionFilesTest, MovesToANameThatIsFree) {
  ExecutionFiles files = *ExecutionFiles::Create(parent_, "e1");
  std::ofstream(parent_ + "/e2") << "x";
  EXPECT_THAT(
      files.Rename(parent_, "e2"),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("rename to")));
  EXPECT_EQ(files.path(), parent_ + "/e1");
  EXPECT_THAT(files.Rename(parent_, "e3"), IsOk());
  EXPECT_EQ(files.path(), parent_ + "/e3");
  EXPECT_TRUE(std::filesystem::exists(parent_ + "/e3"));
}

}  // namespace
}  // namespace sandbox
