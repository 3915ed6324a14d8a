// The file of an execution: see execution_layout.h. Nothing is synced here.

#ifndef SANDBOX_STORAGE_EXECUTION_FILE_H_
#define SANDBOX_STORAGE_EXECUTION_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/mapped_page.h"

namespace sandbox {

// The one writer, shared by those who write parts of the file. Not thread-safe,
// but a second thread may use fd().
class ExecutionFile {
 public:
  // Makes the file with its first page. Fails with AlreadyExists if there is
  // one. After another error none is left.
  static absl::StatusOr<std::shared_ptr<ExecutionFile>> Create(
      std::string path);
  ExecutionFile(const ExecutionFile&) = delete;
  ExecutionFile& operator=(const ExecutionFile&) = delete;

  // Fails with AlreadyExists if `path` exists. Call it only while there are no
  // files beside it.
  absl::Status Rename(std::string path);

  const std::string& path() const { return path_; }
  int fd() const { return file_.get(); }
  const std::shared_ptr<MappedPage>& page() const { return page_; }

  // Writes a sealed record. May be tried again after an error.
  absl::Status WriteStart(absl::string_view sealed);
  absl::Status WriteEnd(absl::string_view sealed);

 private:
  ExecutionFile(std::string path, UniqueFd file,
                std::shared_ptr<MappedPage> page);

  std::string path_;
  const UniqueFd file_;
  const std::shared_ptr<MappedPage> page_;
};

// Reads the records. Thread-safe. Blocks on the disk.
class ExecutionRecords {
 public:
  // Opens the file. Fails with NotFound if there is none, with DataLoss if it
  // is no file of an execution, and with FailedPrecondition if it is a
  // directory, of an earlier supervisor.
  static absl::StatusOr<ExecutionRecords> Open(const std::string& path);

  // Fail with DataLoss if the record was never written. Messages name the path.
  absl::Status ReadStart(google::protobuf::MessageLite* message) const;
  absl::Status ReadEnd(google::protobuf::MessageLite* message) const;
  // See ExecutionHeader.
  bool synced() const;
  // The first page, as it was when the file was opened.
  absl::string_view page() const { return page_; }

 private:
  ExecutionRecords(std::string path, UniqueFd file, std::string page);
  absl::Status Read(const RecordPlace& place,
                    google::protobuf::MessageLite* message) const;

  std::string path_;
  UniqueFd file_;
  std::string page_;
};

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_EXECUTION_FILE_H_
