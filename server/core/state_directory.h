// The server's files: <state>/lock, and for each sandbox a directory
// <state>/sandboxes/<id>/. There the server writes
//
//   spec.pb      what the sandbox is; the directory gets its name with it
//   deleting.pb  its deletion has begun
//   failure.pb   why it failed
//
// and the supervisor writes everything else: see execution_records.h.
//
// Thread-safe. Everything blocks on the disk, except the functions that return
// paths.

#ifndef SERVER_CORE_STATE_DIRECTORY_H_
#define SERVER_CORE_STATE_DIRECTORY_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/unique_fd.h"
#include "server/core/blank_directories.h"
#include "server/core/directory_sync.h"

namespace server {

class StateDirectory {
 public:
  // Makes the directory if it does not exist, and locks it for as long as the
  // object lives. Fails with Unavailable if another server holds the lock.
  static absl::StatusOr<std::unique_ptr<StateDirectory>> Open(
      const std::string& path);

  // Lets another server lock it. This object must not change it any more.
  void Unlock();

  std::string SandboxPath(absl::string_view sandbox) const;

  // The content of /proc/sys/kernel/random/boot_id.
  const std::string& boot_id() const { return boot_id_; }

  // Makes spec.directory() with spec.pb in it. A failure leaves nothing behind.
  // Fails with AlreadyExists if another sandbox has that directory.
  absl::Status WriteSpec(const corral::supervisor::v1::SandboxSpec& spec) const;
  // Does ahead what it can of the next calls of WriteSpec().
  void PrepareForNext() const { blanks_->Refill(); }
  // Removes what was done ahead, and does no more. For a server that ends.
  void PrepareNoMore() const { blanks_->RemoveAll(); }
  // Returns when what WriteSpec() wrote would survive a crash of the machine.
  // Fails with NotFound if it was removed. After another failure ReplaceSpec()
  // must come first: the kernel treats data that it could not write as written.
  absl::Status SyncSpec(const corral::supervisor::v1::SandboxSpec& spec) const;
  // Replaces the spec.pb of a sandbox, synced. After a failure the earlier one
  // is there.
  static absl::Status ReplaceSpec(
      const corral::supervisor::v1::SandboxSpec& spec);

  // Returns all names in the directory of sandboxes: ids, and leftovers that
  // are to be removed.
  absl::StatusOr<std::vector<std::string>> ListSandboxes() const;

  // Fails with NotFound or DataLoss if the sandbox was never made. After any
  // other error it is not known if it was made.
  absl::StatusOr<corral::supervisor::v1::SandboxSpec> ReadSpec(
      absl::string_view sandbox) const;

  // Records that a deletion has begun, and the cause that its commands end
  // with.
  static absl::Status WriteDeletion(
      const std::string& sandbox_path,
      const corral::supervisor::v1::DeleteSandbox& deletion);
  // Returns no value if no deletion was recorded.
  static std::optional<corral::supervisor::v1::DeleteSandbox> ReadDeletion(
      const std::string& sandbox_path);

  // Records why a sandbox failed.
  static absl::Status WriteFailure(
      const std::string& sandbox_path,
      const corral::supervisor::v1::SandboxEnd& failure);
  // Returns no value if no failure was recorded.
  static std::optional<corral::supervisor::v1::SandboxEnd> ReadFailure(
      const std::string& sandbox_path);

  // Returns true if no supervisor has made the sandbox ready. A supervisor may
  // be about to do so.
  static bool IsUnborn(const std::string& sandbox_path);
  // Returns true if no supervisor lives there, and no execution was ever
  // started, or all are deleted.
  static bool IsUnused(const std::string& sandbox_path);

  // Removes the directory of an unborn sandbox. If a supervisor has begun to
  // listen meanwhile, fails and leaves the directory under its RemovedPath().
  static absl::Status RemoveUnborn(const std::string& sandbox_path);

 private:
  StateDirectory(std::string path, std::string boot_id, sandbox::UniqueFd lock)
      : path_(std::move(path)),
        boot_id_(std::move(boot_id)),
        lock_(std::move(lock)),
        sandboxes_(std::make_unique<DirectorySync>(path_ + "/sandboxes")),
        blanks_(std::make_unique<BlankDirectories>(path_ + "/sandboxes",
                                                   "spec.pb")) {}

  const std::string path_;
  const std::string boot_id_;
  const sandbox::UniqueFd lock_;
  const std::unique_ptr<DirectorySync> sandboxes_;
  const std::unique_ptr<BlankDirectories> blanks_;
};

}  // namespace server

#endif  // SERVER_CORE_STATE_DIRECTORY_H_
