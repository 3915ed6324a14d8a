#include "sandbox/supervisor/execution_files.h"

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/storage/record_file.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

TEST(ExecutionFilesTest, KeepsTheCommandOnceInItsStartRecord) {
  const std::string parent =
      absl::StrCat(::testing::TempDir(), "/execution_files");
  std::filesystem::remove_all(parent);
  std::filesystem::create_directories(parent);
  absl::StatusOr<ExecutionFiles> files =
      ExecutionFiles::Create(parent, "e1", /*terminal=*/false);
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
  ASSERT_THAT(ReadRecord(absl::StrCat(files->directory(), "/start.pb"), &read),
              IsOk());
  EXPECT_EQ(read.id(), "e1");
  EXPECT_EQ(read.request().request_id(), "r1");
  EXPECT_EQ(read.command().argv_size(), 0);
  EXPECT_EQ(read.command().environment_size(), 0);
  EXPECT_EQ(read.command().original(), "the client's command");
  EXPECT_TRUE(read.command().open_stdin());
  std::filesystem::remove_all(parent);
}

}  // namespace
}  // namespace sandbox
