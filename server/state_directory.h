// The server's files: <state>/lock and <state>/sandboxes/<id>/, of which the
// server writes spec.pb and the supervisor everything else.
//
// Thread-safe. Everything blocks on the disk.

#ifndef SERVER_STATE_DIRECTORY_H_
#define SERVER_STATE_DIRECTORY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
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

  // Makes spec.directory() and writes spec.pb there, synced.
  absl::Status WriteSpec(const corral::supervisor::v1::SandboxSpec& spec) const;

  // The ids of the sandboxes that have a directory.
  std::vector<std::string> ListSandboxes() const;

  absl::StatusOr<corral::supervisor::v1::SandboxSpec> ReadSpec(
      absl::string_view sandbox) const;

  // What start.pb and exit.pb say of each execution. STARTING: no end was
  // written. What has no readable start.pb never began and is left out.
  std::vector<corral::supervisor::v1::ExecutionRecord> ReadRecords(
      absl::string_view sandbox) const;

  // Removes `path`, which is of this object's making, and what is below it.
  static absl::Status Remove(const std::string& path);

 private:
  StateDirectory(std::string path, sandbox::UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const sandbox::UniqueFd lock_;
};

}  // namespace server

#endif  // SERVER_STATE_DIRECTORY_H_
