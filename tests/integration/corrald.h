// A corrald of a test's own: the real program with its own directory for
// everything, on a Unix socket there.
//
//   Corrald server;
//   server.Start();
//   grpc::Channel to server.address() ...
//   server.End();

#ifndef TESTS_INTEGRATION_CORRALD_H_
#define TESTS_INTEGRATION_CORRALD_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/channel.h"
#include "tests/integration/process.h"

namespace tests {

// Not thread-safe.
class Corrald {
 public:
  // `configuration`: the content of the file that --config names.
  explicit Corrald(const std::string& configuration = "drain_seconds: 0");
  // Kills it, and the supervisors that it leaves.
  ~Corrald();

  Corrald(const Corrald&) = delete;
  Corrald& operator=(const Corrald&) = delete;

  // Starts the program; Start() does so with the usual flags and returns when
  // it answers. Both may be called again after its end.
  // `wrapper`: words before the program's own; it keeps its process id.
  void Launch(std::vector<std::string> arguments,
              const std::vector<std::string>& wrapper = {});
  std::vector<std::string> UsualArguments() const;
  void Start();

  // Starts a successor with the usual flags and --take-over, and returns when
  // the server that ran has given way.
  void TakeOver();

  // As kill -9 does. Sandboxes go on.
  void Kill();
  void Signal(int number) { process_->Signal(number); }
  int Wait() { return process_->Wait(); }
  pid_t pid() const { return process_->pid(); }
  bool IsRunning() const { return process_ && process_->IsRunning(); }

  // SIGTERM, and nothing may be left of it.
  void End();
  void ExpectNothingLeft();

  // A connection that is shared with nobody.
  std::shared_ptr<grpc::Channel> Connect() const;

  // "unix:PATH"
  std::string address() const { return "unix:" + socket_path(); }
  std::string socket_path() const { return directory_ + "/run/corrald.sock"; }
  std::string state_directory() const { return directory_ + "/state"; }
  std::string config_file() const { return directory_ + "/corrald.textproto"; }
  // A directory that commands may get; the caller may put files there.
  std::string workspace() const { return directory_ + "/workspace"; }
  const std::string& directory() const { return directory_; }
  // What it wrote to standard error.
  std::string log() const;

  // Those that live, of sandboxes and prepared ones.
  std::vector<pid_t> Supervisors() const;
  // Those of sandboxes in which a command runs.
  std::vector<pid_t> BusySupervisors() const;
  void KillBusySupervisors() const;

 private:
  // Remembers the control groups that exist now.
  void NoteCgroups();

  std::string directory_;
  std::unique_ptr<Process> process_;
  // With their inode numbers: another server may take a path again.
  std::map<std::string, ino_t> cgroups_;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& content);

}  // namespace tests

#endif  // TESTS_INTEGRATION_CORRALD_H_
