#include "server/core/directory_sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/unique_fd.h"

namespace server {
namespace {

absl::Status Flush(const std::string& path) {
  const sandbox::UniqueFd directory(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return directory.valid() && ::fsync(directory.get()) == 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, absl::StrCat("fsync ", path));
}

}  // namespace

DirectorySync::DirectorySync(const std::string& path)
    : DirectorySync([path] { return Flush(path); }) {}

DirectorySync::DirectorySync(std::function<absl::Status()> flush)
    : flush_(std::move(flush)) {}

absl::Status DirectorySync::Sync() {
  absl::Status status;
  const std::shared_ptr<Batch> batch = Join(status);
  if (batch == nullptr) {
    return status;
  }
  status = flush_();
  sandbox::MutexLock lock(&mutex_);
  batch->code = status.code();
  batch->message = std::string(status.message());
  batch->over = true;
  flushing_ = false;
  mutex_.Signal();
  return status;
}

int DirectorySync::waiting() {
  sandbox::MutexLock lock(&mutex_);
  return next_ == nullptr ? 0 : next_->calls;
}

std::shared_ptr<DirectorySync::Batch> DirectorySync::Join(
    absl::Status& status) {
  sandbox::MutexLock lock(&mutex_);
  if (next_ == nullptr) {
    next_ = std::make_shared<Batch>();
  }
  std::shared_ptr<Batch> batch = next_;
  ++batch->calls;
  mutex_.Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return batch->over || !flushing_;
  });
  if (batch->over) {
    status = absl::Status(batch->code, batch->message);
    return nullptr;
  }
  flushing_ = true;
  next_ = nullptr;
  return batch;
}

}  // namespace server
