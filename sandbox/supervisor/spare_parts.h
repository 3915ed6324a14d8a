// Cgroups and the file of an execution, made ahead for the next command, since
// making them takes longer than starting a program. Groups of commands that
// have ended are used again: removing one takes longer still.
//
// Used on the event loop's thread only. Not movable: a timer refers to it.

#ifndef SANDBOX_SUPERVISOR_SPARE_PARTS_H_
#define SANDBOX_SUPERVISOR_SPARE_PARTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/supervisor/command_group.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/storage_status.h"

namespace sandbox {

class SpareParts {
 public:
  using MakeGroup = std::function<absl::StatusOr<std::unique_ptr<CommandGroup>>(
      const std::string& name)>;

  // Both outlive this.
  SpareParts(Timers* timers, StorageStatus* storage)
      : timers_(timers), storage_(storage) {}
  ~SpareParts() { storage_->Succeed(this); }
  SpareParts(const SpareParts&) = delete;
  SpareParts& operator=(const SpareParts&) = delete;

  // Call it before groups are prepared or taken.
  void SetGroups(MakeGroup make_group) { make_group_ = std::move(make_group); }
  // `directory` is the path of the directory with the files of all executions.
  // Call it before files are prepared or taken.
  void SetDirectory(std::string directory) {
    directory_ = std::move(directory);
  }
  const std::string& directory() const { return directory_; }
  // Returns the path of the file of the execution `id`.
  std::string PathOf(const std::string& id) const {
    return absl::StrCat(directory_, "/", id);
  }

  // Make the spare, if there is none. A disk that refuses the files is reported
  // to the storage status, and asked again later.
  void PrepareGroup();
  void PrepareFiles();

  // Limits the groups that were made before the sandbox's limits were known.
  absl::Status LimitGroups(const CgroupLimits& limits);

  // Keeps the group of a command that has ended for another one, or removes it.
  // Returns false if a process lives in it; then nothing was done.
  bool GiveBack(std::unique_ptr<CommandGroup>& group);

  // The spare, or a new one. The files get the name `id`: AlreadyExists if it
  // is taken.
  absl::StatusOr<std::unique_ptr<CommandGroup>> TakeGroup();
  absl::StatusOr<ExecutionFiles> TakeFiles(const std::string& id);

  // Removes the groups and makes nothing any more. The files stay: the server
  // removes the directory.
  void Stop();

 private:
  Timers* const timers_;
  StorageStatus* const storage_;
  MakeGroup make_group_;
  std::string directory_;
  bool stopped_ = false;
  // Makes names differ.
  uint64_t next_number_ = 0;
  std::vector<std::unique_ptr<CommandGroup>> groups_;
  ExecutionFiles files_;
  Timer retry_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SPARE_PARTS_H_
