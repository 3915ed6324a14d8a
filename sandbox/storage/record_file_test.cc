#include "sandbox/storage/record_file.h"

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"

namespace sandbox {
namespace {

using corral::supervisor::v1::SandboxSpec;

std::string Sealed() {
  SandboxSpec spec;
  spec.set_id("builder");
  spec.set_workspace(std::string(1000, 'w'));
  return SealRecord(spec);
}

absl::StatusCode CodeOf(const std::string& content) {
  SandboxSpec spec;
  return UnsealRecord(content, &spec).code();
}

TEST(RecordFileTest, UnsealsWhatWasSealed) {
  SandboxSpec spec;
  ASSERT_TRUE(UnsealRecord(Sealed(), &spec).ok());
  EXPECT_EQ(spec.id(), "builder");
  EXPECT_EQ(spec.workspace().size(), 1000);
}

TEST(RecordFileTest, DistinguishesAnEmptyMessageFromAnEmptyFile) {
  EXPECT_EQ(CodeOf(SealRecord(SandboxSpec())), absl::StatusCode::kOk);
  EXPECT_EQ(CodeOf(""), absl::StatusCode::kDataLoss);
}

TEST(RecordFileTest, RefusesEveryPrefix) {
  const std::string whole = Sealed();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(CodeOf(whole.substr(0, size)), absl::StatusCode::kDataLoss)
        << size;
  }
}

TEST(RecordFileTest, RefusesEveryTailOfZeros) {
  const std::string whole = Sealed();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(
        CodeOf(whole.substr(0, size) + std::string(whole.size() - size, '\0')),
        absl::StatusCode::kDataLoss)
        << size;
  }
}

TEST(RecordFileTest, ReadsTheRecordOfTheLargestCommand) {
  // 1 MiB of empty arguments, in the form that is run and in the one that was
  // sent.
  constexpr int kArguments = (1 << 20) - 2;
  corral::supervisor::v1::ExecutionRecord record;
  corral::supervisor::v1::CommandSpec* command = record.mutable_command();
  command->add_argv("x");
  for (int i = 0; i < kArguments; ++i) {
    command->add_argv("");
  }
  command->set_original(command->SerializeAsString());
  command->set_working_directory(std::string(4096, 'd'));
  const std::string path = ::testing::TempDir() + "/start.pb";
  std::ofstream(path) << SealRecord(record);
  corral::supervisor::v1::ExecutionRecord read;
  const absl::Status status = ReadRecord(path, &read);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(read.command().argv_size(), kArguments + 1);
}

TEST(RecordFileTest, NamesTheFileThatIsTorn) {
  const std::string path = ::testing::TempDir() + "/torn.pb";
  const std::string whole = Sealed();
  std::ofstream(path) << whole.substr(0, whole.size() - 1);
  SandboxSpec spec;
  EXPECT_EQ(ReadRecord(path, &spec),
            absl::DataLossError(path + ": the record is torn"));
}

TEST(RecordFileTest, RefusesAnotherMessage) {
  // These bytes are where the other has a text.
  corral::supervisor::v1::WriteInput input;
  input.set_data("\xff\xff");
  EXPECT_EQ(CodeOf(SealRecord(input)), absl::StatusCode::kDataLoss);
}

TEST(RecordFileTest, NamesTheFileThatIsMissing) {
  SandboxSpec spec;
  const absl::Status status = ReadRecord("/nonexistent/spec.pb", &spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/nonexistent/spec.pb"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace sandbox
