// For tests: one execution with real logs, in a sandbox of its own.

#ifndef SERVER_CORE_EXECUTION_FIXTURE_H_
#define SERVER_CORE_EXECUTION_FIXTURE_H_

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "gtest/gtest.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "server/api/names.h"
#include "server/core/execution.h"

namespace server {

// An execution of the sandbox "box" that ended at `end`.
inline std::shared_ptr<Execution> MakeEnded(const std::string& id,
                                            absl::Time end) {
  const auto execution = std::make_shared<Execution>(
      std::make_shared<const ExecutionHome>(
          ExecutionHome{SandboxName("box"), "/nowhere"}),
      id, corral::v1::Command());
  corral::supervisor::v1::ExecutionRecord record;
  record.set_state(record.EXITED);
  record.set_end_time_ns(absl::ToUnixNanos(end));
  execution->Update(record);
  return execution;
}

class ExecutionFixture : public ::testing::Test {
 protected:
  using Record = corral::supervisor::v1::ExecutionRecord;

  ExecutionFixture()
      : sandbox_directory_(absl::StrCat(
            ::testing::TempDir(), "/",
            ::testing::UnitTest::GetInstance()->current_test_info()->name())),
        file_path_(absl::StrCat(sandbox_directory_, "/executions/job")) {
    std::filesystem::remove_all(sandbox_directory_);
    std::filesystem::create_directories(
        absl::StrCat(sandbox_directory_, "/executions"));
  }
  ~ExecutionFixture() override {
    std::filesystem::remove_all(sandbox_directory_);
  }

  // An execution that is STARTING.
  std::shared_ptr<Execution> Start(const corral::v1::Command& command = {}) {
    return std::make_shared<Execution>(
        std::make_shared<const ExecutionHome>(
            ExecutionHome{SandboxName("box"), sandbox_directory_}),
        "job", command);
  }

  // The file of the execution, which the first call makes.
  sandbox::ExecutionFile& File() {
    if (file_ == nullptr) {
      file_ = sandbox::ExecutionFile::Create(file_path_).value();
    }
    return *file_;
  }
  // The log of a stream.
  sandbox::OutputLogWriter& Log(corral::supervisor::v1::Stream stream) {
    File();
    return logs_.try_emplace(stream, file_, stream).first->second;
  }
  static void Write(sandbox::OutputLogWriter* log, const std::string& bytes) {
    EXPECT_TRUE(log->Append(bytes.data(), bytes.size()).ok());
  }
  // A record with one stream, STDOUT, that ends at `end`.
  static Record MakeRecord(Record::State state, uint64_t end) {
    Record record;
    record.set_id("job");
    record.set_state(state);
    if (state == Record::EXITED) {
      record.mutable_exit();
      record.set_end_time_ns(1'000'000'000'000'000'000);
    }
    *record.add_streams() = MakeReport(corral::supervisor::v1::STDOUT, end);
    return record;
  }
  static corral::supervisor::v1::StreamState MakeReport(
      corral::supervisor::v1::Stream stream, uint64_t end) {
    corral::supervisor::v1::StreamState report;
    report.set_stream(stream);
    report.set_end(end);
    return report;
  }

  const std::string sandbox_directory_;
  const std::string file_path_;
  std::shared_ptr<sandbox::ExecutionFile> file_;
  std::map<corral::supervisor::v1::Stream, sandbox::OutputLogWriter> logs_;
};

}  // namespace server

#endif  // SERVER_CORE_EXECUTION_FIXTURE_H_
