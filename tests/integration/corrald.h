// Starts the real corrald for a test, with its own directory for everything,
// listening on a Unix socket there.
//
//     Corrald server;
//     server.Start();
//     ... a gRPC channel to server.address() ...
//     server.End();

#ifndef TESTS_INTEGRATION_CORRALD_H_
#define TESTS_INTEGRATION_CORRALD_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "grpcpp/channel.h"
#include "tests/process.h"

namespace tests {

// Not thread-safe.
class Corrald {
 public:
  // `configuration` is the content of the file that --config names.
  explicit Corrald(const std::string& configuration = "drain_seconds: 0");
  // Kills the server and the supervisors that it leaves behind.
  ~Corrald();

  Corrald(const Corrald&) = delete;
  Corrald& operator=(const Corrald&) = delete;

  // Launch() starts the program. Start() starts it with the usual flags and
  // returns when it answers. Both may be called again after its end. `wrapper`
  // holds words to put before the program's own; the program keeps its process
  // id.
  void Launch(std::vector<std::string> arguments,
              const std::vector<std::string>& wrapper = {});
  std::vector<std::string> UsualArguments() const;
  void Start();
  // Blocks until the server answers. Fails the test if it ends before.
  void AwaitServing();

  // Starts a successor with the usual flags and --take-over. Returns when the
  // old server has exited.
  void TakeOver();

  // Kills the server as kill -9 does. Sandboxes go on.
  void Kill();
  void Signal(int number) { process_->Signal(number); }
  int Wait() { return process_->Wait(); }
  pid_t pid() const { return process_->pid(); }
  bool IsRunning() const { return process_ && process_->IsRunning(); }

  // Sends SIGTERM and expects that nothing is left of the server.
  void End();
  // Call it after the end. If the server reported that it left files to the
  // next one, starts a next one and expects that it removes them.
  void ExpectNothingLeft();
  // The directories of sandboxes, also of those that are being removed.
  std::set<std::string> SandboxDirectories() const;
  // Waits until the server has removed these.
  void AwaitRemoval(const std::set<std::string>& directories) const;

  // Returns a connection that no other client shares.
  std::shared_ptr<grpc::Channel> Connect() const;

  // "unix:PATH"
  std::string address() const { return "unix:" + socket_path(); }
  std::string socket_path() const { return directory_ + "/run/corrald.sock"; }
  std::string state_directory() const { return directory_ + "/state"; }
  std::string config_file() const { return directory_ + "/corrald.textproto"; }
  // A directory for workspaces; the test may put files there.
  std::string workspace() const { return directory_ + "/workspace"; }
  const std::string& directory() const { return directory_; }
  // The server's standard error so far.
  std::string log() const;

  // The supervisors that live, of sandboxes and prepared ones.
  std::vector<pid_t> Supervisors() const;
  // The supervisors of sandboxes in which a command runs.
  std::vector<pid_t> BusySupervisors() const;
  void KillBusySupervisors() const;

 private:
  // Supervisors, and the processes beside them.
  std::vector<pid_t> Descendants() const;
  void ExpectNoFilesLeft();
  // Remembers the control groups that exist now.
  void NoteCgroups();

  std::string directory_;
  std::unique_ptr<Process> process_;
  // The last server got these.
  std::vector<std::string> arguments_;
  // The cgroups with their inode numbers, because another server may reuse a
  // path.
  std::map<std::string, ino_t> cgroups_;
};

}  // namespace tests

#endif  // TESTS_INTEGRATION_CORRALD_H_
