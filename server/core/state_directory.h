// The server's files: <state>/lock and <state>/sandboxes/<id>/. Of a sandbox's
// the server writes spec.pb, deleting.pb (its deletion has begun) and
// failure.pb (how it failed), the supervisor everything else. What is removed
// is renamed to a name that is no id first, so that it is whole or nobody's.
//
// Thread-safe. Everything blocks on the disk.

#ifndef SERVER_CORE_STATE_DIRECTORY_H_
#define SERVER_CORE_STATE_DIRECTORY_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/unique_fd.h"

namespace server {

class StateDirectory {
 public:
  // Makes the directory if need be and locks it for as long as the object
  // lives. Unavailable: another server holds the lock.
  static absl::StatusOr<std::unique_ptr<StateDirectory>> Open(
      const std::string& path);

  // Lets another server lock it. This object must not change it any more.
  void Unlock();

  std::string SandboxPath(absl::string_view sandbox) const;
  static std::string ExecutionPath(absl::string_view sandbox_path,
                                   absl::string_view execution);

  // The content of /proc/sys/kernel/random/boot_id.
  const std::string& boot_id() const { return boot_id_; }

  // Makes spec.directory() and writes spec.pb there, synced. What fails leaves
  // nothing. AlreadyExists: the directory is another's.
  absl::Status WriteSpec(const corral::supervisor::v1::SandboxSpec& spec) const;

  // The names in the directory of sandboxes: ids, and what is to be removed.
  // All of them or an error.
  absl::StatusOr<std::vector<std::string>> ListSandboxes() const;

  // NotFound or DataLoss: it was never made. Others: it cannot be known.
  absl::StatusOr<corral::supervisor::v1::SandboxSpec> ReadSpec(
      absl::string_view sandbox) const;

  // Records that a deletion has begun, and the cause of its commands' ends.
  static absl::Status WriteDeletion(
      const std::string& sandbox_path,
      const corral::supervisor::v1::DeleteSandbox& deletion);
  static std::optional<corral::supervisor::v1::DeleteSandbox> ReadDeletion(
      const std::string& sandbox_path);

  // Why a sandbox failed, if it did and anybody knows.
  static absl::Status WriteFailure(
      const std::string& sandbox_path,
      const corral::supervisor::v1::SandboxEnd& failure);
  static std::optional<corral::supervisor::v1::SandboxEnd> ReadFailure(
      const std::string& sandbox_path);

  // No supervisor has made the sandbox ready, though one may just be about to.
  static bool IsUnborn(const std::string& sandbox_path);

  // Reads start.pb and exit.pb of each execution whose id `wanted` admits, one
  // at a time, and gives the record to `visit`. STARTING: no end was written.
  // An execution without start.pb, or with a torn one, never began and is left
  // out. An error: at least one file could not be read; its execution was left
  // out, or visited without its end, and neither means anything.
  static absl::Status ReadRecords(
      const std::string& sandbox_path,
      absl::FunctionRef<bool(const std::string& id)> wanted,
      absl::FunctionRef<void(const corral::supervisor::v1::ExecutionRecord&)>
          visit);

  // The command of one execution, as the client sent it. NotFound: start.pb is
  // not there, or torn.
  static absl::StatusOr<corral::v1::Command> ReadCommand(
      const std::string& execution_path);

  // Removes what is left of executions that were deleted and, `all`, of those
  // that never began; then there must be no supervisor.
  static void RemoveLeftovers(const std::string& sandbox_path, bool all);

  // Cuts the logs of a sandbox whose host went down. After an error some are
  // not cut; it may be called again.
  static absl::Status CutLogs(const std::string& sandbox_path);

  // The name of a directory whose removal has begun.
  static std::string RemovedPath(const std::string& path);

  // Removes the directory of a sandbox or an execution, and what is below it.
  // A failed removal may be repeated. OK: the directory does not exist.
  static absl::Status Remove(const std::string& path);

  // Like Remove(), for a sandbox whose supervisor may be about to listen: it
  // cannot any more, or this fails and leaves the directory under a name that
  // is no id.
  static absl::Status RemoveUnborn(const std::string& path);

 private:
  StateDirectory(std::string path, std::string boot_id, sandbox::UniqueFd lock)
      : path_(std::move(path)),
        boot_id_(std::move(boot_id)),
        lock_(std::move(lock)) {}

  const std::string path_;
  const std::string boot_id_;
  const sandbox::UniqueFd lock_;
};

}  // namespace server

#endif  // SERVER_CORE_STATE_DIRECTORY_H_
