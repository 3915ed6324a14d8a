// Directories for sandboxes, made ahead: making directories and files takes
// longer than everything else that is written while a client waits for a
// sandbox.
//
// Their names are no ids of sandboxes, so the next server removes those that
// were left by one that was killed or gave way.
//
// Thread-safe. Everything blocks on the disk.

#ifndef SERVER_CORE_BLANK_DIRECTORIES_H_
#define SERVER_CORE_BLANK_DIRECTORIES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sandbox/base/mutex.h"

namespace server {

class BlankDirectories {
 public:
  // The same number as of supervisors that are made ahead: see
  // sandbox/client/spare_supervisors.h.
  static constexpr size_t kMost = 8;

  // `parent` is the path of the directory of all sandboxes, `description` the
  // name of a file.
  BlankDirectories(std::string parent, std::string description)
      : parent_(std::move(parent)), description_(std::move(description)) {}

  // Returns the path of a directory with mode 0700 in which there are only an
  // empty directory "executions" and an empty file `description`. The caller
  // renames or removes it. Makes one if none was made ahead. Errors: those of
  // mkdir(2) and open(2).
  absl::StatusOr<std::string> Take();

  // Makes those that are missing. After an error they are made by Take(), which
  // reports it.
  void Refill();

  // Removes those that were not used. No more are made ahead.
  void RemoveAll();

 private:
  bool Lacks() const;
  // Keeps a directory that was made, or removes it and returns false if it is
  // not wanted any more.
  bool Keep(const std::string& path);

  absl::StatusOr<std::string> Make() const;

  const std::string parent_;
  const std::string description_;
  mutable sandbox::Mutex mutex_;
  std::vector<std::string> made_ ABSL_GUARDED_BY(mutex_);
  size_t wanted_ ABSL_GUARDED_BY(mutex_) = kMost;
};

}  // namespace server

#endif  // SERVER_CORE_BLANK_DIRECTORIES_H_
