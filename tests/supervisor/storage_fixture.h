// A sandbox whose executions are on a disk of 1 MiB.
//
// Used on the test's thread only.

#ifndef TESTS_SUPERVISOR_STORAGE_FIXTURE_H_
#define TESTS_SUPERVISOR_STORAGE_FIXTURE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {

class StorageTest : public ::testing::Test {
 protected:
  // Mounts the disk. The test is skipped where it may not mount.
  static void SetUpTestSuite();
  void SetUp() override;
  void TearDown() override;

  // `size` is an option of the mount, "size=8m".
  void Resize(const char* size);
  // Leave no room at all, until Free().
  void Fill();
  void Free();

  wire::StartExecution Shell(const std::string& id, const std::string& script,
                             wire::CommandSpec::Overflow overflow,
                             uint64_t retain_bytes);
  // A command that exits with 3 when its input is closed.
  wire::StartExecution Reader(const std::string& id);
  void CloseInput(const std::string& id);
  absl::Status Signal(const std::string& id, int signal,
                      wire::Signal::Scope scope, int64_t kill_after_ns);

  // Starts a command and returns when it has exited with 3 and its last output,
  // "last\n", waits for the disk.
  void StartRefused(const std::string& id);
  // Starts a command and returns when it has exited with 3 and the disk has no
  // room for the record of its end.
  void StartUnrecorded(const std::string& id);

  std::string FilePath(const std::string& id) {
    return absl::StrCat(disk_, "/", id);
  }
  OutputLogState State(const std::string& id) {
    return *OutputLogReader::Open(FilePath(id), wire::STDOUT)->state();
  }
  std::string Read(const std::string& id, uint64_t begin, uint64_t end);
  // Bytes that the output of the execution takes.
  uint64_t DiskUse(const std::string& id);
  // Returns true if the end of the execution is recorded.
  bool HasEnd(const std::string& id);

  std::string disk_;
  TestSandbox sandbox_;

 private:
  // Waits until the files of the next command are made. If they were made while
  // Fill() runs, their failure could free room after it.
  void WaitForSpareFiles(const std::string& running);
};

}  // namespace sandbox

#endif  // TESTS_SUPERVISOR_STORAGE_FIXTURE_H_
