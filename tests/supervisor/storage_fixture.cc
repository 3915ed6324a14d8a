#include "tests/supervisor/storage_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

bool HasSpareFiles(const std::string& disk) {
  for (const auto& entry : std::filesystem::directory_iterator(disk)) {
    struct stat file;
    if (absl::StartsWith(entry.path().filename().string(), ".spare-") &&
        ::stat(entry.path().c_str(), &file) == 0 && file.st_size > 0) {
      return true;
    }
  }
  return false;
}

bool may_mount = false;

}  // namespace

void StorageTest::SetUpTestSuite() {
  may_mount = ::unshare(CLONE_NEWNS) == 0 &&
              ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

void StorageTest::SetUp() {
  if (!may_mount) {
    GTEST_SKIP() << "this test may not mount: errno " << errno;
  }
  disk_ = sandbox_.directory() + "/executions";
  ASSERT_EQ(::mkdir(disk_.c_str(), 0700), 0);
  ASSERT_EQ(::mount("disk", disk_.c_str(), "tmpfs", 0, "size=1m"), 0);
}

void StorageTest::TearDown() {
  EXPECT_THAT(sandbox_.Delete(), IsOk());
  ::umount2(disk_.c_str(), MNT_DETACH);
}

void StorageTest::Resize(const char* size) {
  ASSERT_EQ(::mount("disk", disk_.c_str(), nullptr, MS_REMOUNT, size), 0);
}

void StorageTest::Fill() {
  const UniqueFd file(::open((disk_ + "/.filler").c_str(),
                             O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const std::string page(4096, 'x');
  while (::write(file.get(), page.data(), page.size()) > 0) {
  }
  ASSERT_EQ(errno, ENOSPC);
}

void StorageTest::Free() {
  ASSERT_EQ(::unlink((disk_ + "/.filler").c_str()), 0);
}

wire::StartExecution StorageTest::Shell(const std::string& id,
                                        const std::string& script,
                                        wire::CommandSpec::Overflow overflow,
                                        uint64_t retain_bytes) {
  wire::StartExecution start = sandbox_.Shell(id, script);
  start.mutable_command()->set_overflow(overflow);
  start.mutable_command()->set_retain_bytes(retain_bytes);
  return start;
}

wire::StartExecution StorageTest::Reader(const std::string& id) {
  wire::StartExecution start = sandbox_.Shell(id, "read x; exit 3");
  start.mutable_command()->set_open_stdin(true);
  return start;
}

void StorageTest::CloseInput(const std::string& id) {
  wire::WriteInput input;
  input.set_execution_id(id);
  input.set_eof(true);
  sandbox_.connection().WriteInput(
      input, [](const absl::Status&, const wire::InputState&) {});
}

absl::Status StorageTest::Signal(const std::string& id, int signal,
                                 wire::Signal::Scope scope,
                                 int64_t kill_after_ns) {
  wire::Signal request;
  request.set_execution_id(id);
  request.set_signal(signal);
  request.set_scope(scope);
  request.set_kill_after_ns(kill_after_ns);
  Outcome outcome;
  sandbox_.connection().Signal(request, outcome.Callback());
  return outcome.Wait();
}

void StorageTest::WaitForSpareFiles(const std::string& running) {
  while (!HasSpareFiles(disk_)) {
    EXPECT_THAT(Signal(running, 0, wire::Signal::LEADER, -1), IsOk());
  }
}

void StorageTest::StartRefused(const std::string& id) {
  wire::StartExecution start = sandbox_.Shell(id, "read x; echo last; exit 3");
  start.mutable_command()->set_open_stdin(true);
  start.mutable_command()->set_drain_ns(0);
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  WaitForSpareFiles(id);
  Fill();
  CloseInput(id);
  while (Signal(id, 0, wire::Signal::LEADER, -1).ok()) {
  }
  EXPECT_NE(sandbox_.recorder().WaitForStorage(true), "");
  EXPECT_FALSE(sandbox_.recorder().Ended(id));
}

void StorageTest::StartUnrecorded(const std::string& id) {
  wire::StartExecution start = Reader(id);
  // So that the record does not fit into the room that is reserved for it.
  start.mutable_request()->set_request_id(std::string(2000, 'x'));
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  WaitForSpareFiles(id);
  Fill();
  CloseInput(id);
  EXPECT_NE(sandbox_.recorder().WaitForStorage(true), "");
  EXPECT_FALSE(sandbox_.recorder().Ended(id));
}

std::string StorageTest::Read(const std::string& id, uint64_t begin,
                              uint64_t end) {
  const OutputLogReader log =
      *OutputLogReader::Open(FilePath(id), wire::STDOUT);
  std::string text(end - begin, '\0');
  const absl::StatusOr<size_t> got = log.Read(begin, text.data(), text.size());
  EXPECT_THAT(got.status(), IsOk());
  text.resize(got.ok() ? *got : 0);
  return text;
}

uint64_t StorageTest::DiskUse(const std::string& id) {
  struct stat file = {};
  EXPECT_EQ(::stat(FilePath(id).c_str(), &file), 0);
  struct stat rest = {};
  (void)::stat((FilePath(id) + ".out").c_str(), &rest);
  return static_cast<uint64_t>(file.st_blocks + rest.st_blocks) * 512;
}

bool StorageTest::HasEnd(const std::string& id) {
  wire::ExecutionRecord end;
  const auto records = ExecutionRecords::Open(FilePath(id));
  return records.ok() && records->ReadEnd(&end).ok() &&
         end.state() == wire::ExecutionRecord::EXITED;
}

}  // namespace sandbox
