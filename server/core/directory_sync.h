// Makes the entries of one directory durable, for many at a time: calls that
// come while the disk works share its next turn.
//
// Thread-safe.

#ifndef SERVER_CORE_DIRECTORY_SYNC_H_
#define SERVER_CORE_DIRECTORY_SYNC_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "sandbox/base/mutex.h"

namespace server {

class DirectorySync {
 public:
  explicit DirectorySync(const std::string& path);
  // The same with `flush` in place of fsync(2) on the directory.
  explicit DirectorySync(std::function<absl::Status()> flush);

  // Returns when the entries that were there before the call would survive a
  // crash of the machine. Waits for the disk. Errors: those of open(2), which
  // follows no link to the directory, and fsync(2).
  absl::Status Sync();

  // Returns how many calls the next turn of the disk will answer.
  int waiting();

 private:
  // The calls that one turn of the disk answers.
  struct Batch {
    int calls = 0;
    bool over = false;
    absl::StatusCode code = absl::StatusCode::kOk;
    std::string message;
  };

  // Returns the batch of a call, or no batch if it is over: then `status` is
  // its answer.
  std::shared_ptr<Batch> Join(absl::Status& status);

  const std::function<absl::Status()> flush_;
  sandbox::Mutex mutex_;
  // True while a batch has the disk.
  bool flushing_ ABSL_GUARDED_BY(mutex_) = false;
  // The batch of the next call.
  std::shared_ptr<Batch> next_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_DIRECTORY_SYNC_H_
