// An execution that has written "text" and ended.

#ifndef SANDBOX_SUPERVISOR_ENDED_EXECUTION_FIXTURE_H_
#define SANDBOX_SUPERVISOR_ENDED_EXECUTION_FIXTURE_H_

#include <cstdlib>
#include <memory>
#include <string>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/supervisor/execution_files.h"

namespace sandbox {

class EndedExecutionFixture : public ::testing::Test {
 protected:
  EndedExecutionFixture() {
    std::string path = ::testing::TempDir() + "/recordsXXXXXX";
    parent_ = ::mkdtemp(path.data());
  }
  ExecutionFiles MakeEnded(const std::string& id,
                           const std::string& output = "text") {
    ExecutionFiles files = *ExecutionFiles::Create(parent_, id);
    wire::ExecutionRecord record;
    record.set_id(id);
    EXPECT_TRUE(files.WriteStart(record).ok());
    OutputLogWriter log = files.Log(wire::STDOUT);
    EXPECT_TRUE(log.Append(output.data(), output.size()).ok());
    log.Close();
    record.set_state(wire::ExecutionRecord::EXITED);
    end_ = SealRecord(record);
    file_ = *files.WriteEnd(end_);
    return files;
  }
  // True if the execution has the record of its end.
  bool HasEnd(const std::string& id) {
    const auto records = ExecutionRecords::Open(parent_ + "/" + id);
    wire::ExecutionRecord record;
    return records.ok() && records->ReadEnd(&record).ok() && record.id() == id;
  }
  // True if it says that this is on the disk.
  bool IsSynced(const std::string& id) {
    const auto records = ExecutionRecords::Open(parent_ + "/" + id);
    return records.ok() && records->synced();
  }

  std::string parent_;
  // The record of the end of the execution that was made last, and its file.
  std::string end_;
  std::shared_ptr<const ExecutionFile> file_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_ENDED_EXECUTION_FIXTURE_H_
