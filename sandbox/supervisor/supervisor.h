// One sandbox from its creation to its end: answers corrald's requests and owns
// the executions.
//
// Used by one thread only, which calls Run().

#ifndef SANDBOX_SUPERVISOR_SUPERVISOR_H_
#define SANDBOX_SUPERVISOR_SUPERVISOR_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/read_only_paths.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/command_host.h"
#include "sandbox/supervisor/command_table.h"
#include "sandbox/supervisor/construction.h"
#include "sandbox/supervisor/control_socket.h"
#include "sandbox/supervisor/output_quota.h"
#include "sandbox/supervisor/path_protection.h"
#include "sandbox/supervisor/record_sync.h"
#include "sandbox/supervisor/sandbox_groups.h"
#include "sandbox/supervisor/side_process.h"
#include "sandbox/supervisor/space_keeper.h"
#include "sandbox/supervisor/spare_parts.h"
#include "sandbox/supervisor/spawner.h"
#include "sandbox/supervisor/storage_status.h"
#include "sandbox/supervisor/strange_children.h"
#include "sandbox/supervisor/way_out.h"

namespace sandbox {

class Supervisor {
 public:
  // Prepares a sandbox with `profile`; one with another takes longer. `rights`:
  // OK, or why this process cannot make a sandbox.
  Supervisor(std::unique_ptr<EventLoop> loop, PacketSocket control,
             wire::SandboxSpec::Profile profile, absl::Status rights);
  ~Supervisor();

  // Returns when the sandbox was deleted, could not be made or has failed.
  // Nothing of it is left then.
  void Run();

 private:
  // A new one ends when it cannot be made, or when nobody asks for it. So does
  // a complete one, which a request may find. A ready one ends at once when
  // init or the spawner dies; a deletion waits until the ends of all commands
  // are known.
  enum class State { kNew, kComplete, kReady, kDeleting, kEnded };

  void Enter(State next);
  // Ends the run of a sandbox that nobody uses.
  void Abandon();

  void OnRequest(wire::ToSupervisor request);
  static wire::FromSupervisor ReplyOf(uint64_t request_id,
                                      const absl::Status& status);
  void Reply(uint64_t request_id, const absl::Status& status);
  void ReplyInput(uint64_t request_id, const absl::Status& status,
                  const wire::InputState& input);

  // A later server may ask for a profile that this supervisor does not know.
  static seccomp::Profile ProfileOf(wire::SandboxSpec::Profile profile);
  // Makes a sandbox without workspace and limits, which come with the request.
  absl::Status Prepare();
  // Makes its control groups, if there are some, and its processes.
  absl::Status PrepareProcesses();
  absl::Status StartSpawner();
  void CompleteSandbox(uint64_t request_id, const wire::SandboxSpec& spec);
  void CreateSandbox(uint64_t request_id, const wire::SandboxSpec& spec);
  absl::Status Claim(const wire::SandboxSpec& spec);
  // Adds everything that the description says to what was prepared.
  absl::Status Complete(const wire::SandboxSpec& spec);
  // Returns Aborted if what was completed ahead is not what `spec` describes
  // now.
  absl::Status CheckCompleted(const wire::SandboxSpec& spec) const;
  // Returns Aborted if init or the spawner has died.
  absl::Status CheckProcesses() const;
  absl::Status OpenWayOut(const wire::SandboxSpec& spec);
  absl::Status Limit(const wire::SandboxSpec& spec);
  // Fails with ISOLATION if the sandbox could evade its limits with the
  // profile.
  absl::Status CheckProfile(seccomp::Profile profile) const;
  absl::Status Protect(std::vector<ReadOnlyPaths> paths);
  // Takes from this process what it needs no more.
  absl::Status Seal();
  void DeleteSandbox(uint64_t request_id, wire::ExitRecord::Cause cause);
  void AllowHosts(uint64_t request_id, const wire::EgressRules& rules);
  void MakeSockets(uint64_t request_id);

  // Begins the start, or lets it wait while the spawner has enough to do. What
  // a command needs, above all a control group, is then taken from one that has
  // ended meanwhile.
  void StartExecution(uint64_t request_id, wire::StartExecution start);
  void BeginStart(uint64_t request_id, wire::StartExecution start);
  // Begins the first start that waits.
  void BeginNextStart();
  // Begins starts that wait as far as the spawner has room.
  void BeginWaitingStarts();
  // Begins the start of this execution, if it waits, and those before it, since
  // a request to the execution follows.
  void BeginStartsUpTo(const std::string& id);
  // Begins all that wait: for a snapshot, or to be refused as the sandbox ends.
  void BeginAllStarts();
  void Signal(uint64_t request_id, const wire::Signal& signal);
  void Resize(uint64_t request_id, const wire::Resize& resize);
  void WriteInput(uint64_t request_id, const wire::WriteInput& input);
  void Acknowledge(const wire::Acknowledge& acknowledge);
  void DeleteExecution(uint64_t request_id, const std::string& id);
  // Calls `action` with the execution, or answers NO_SUCH_EXECUTION.
  template <typename Action>
  void With(uint64_t request_id, const std::string& id, Action action);

  void OnState(const wire::ExecutionRecord& record);
  // Gives back the memory of code when no command has come for a while.
  void ForgetCodeLater();
  bool InitEnds() const;
  void OnInitExit();
  void OnSpawnerExit();
  void OnProtectionLost(const absl::Status& why);
  void Fail(wire::SandboxEnd::Cause cause, const std::string& why);
  // The server ended without having claimed what was prepared.
  void OnDisconnect();
  bool IsInitOrSpawner(pid_t pid) const;
  // Returns true if the child is one of the supervisor's own, and no start that
  // is under way.
  bool IsKnown(pid_t pid);
  StrangeChildren::Kind Recognize(pid_t pid);
  // Ends the run when nothing is left to wait for.
  void TryEnd();
  // Ends the run when the server has read all messages, or after `patience`.
  void StopWhenRead(absl::Duration patience);
  // Kills and reaps init and spawner; removes the cgroups.
  void CleanUp();
  void ReportStorage();
  // Sends the first message for a server that has connected, as soon as it can
  // be complete.
  void SendSnapshot();

  const std::unique_ptr<EventLoop> loop_;
  // The sandbox is prepared with it.
  const wire::SandboxSpec::Profile profile_;
  State state_ = State::kNew;
  const absl::Status rights_;
  absl::Status prepared_;
  // Once the sandbox is ready.
  wire::SandboxTrace trace_;
  std::string directory_;
  // The shape that was completed ahead, and the mounts of its workspaces.
  wire::SandboxSpec shape_;
  std::vector<UniqueFd> lent_;
  SandboxGroups groups_;
  Construction construction_;
  // The file that shows whether init is exiting.
  UniqueFd init_stat_;
  std::unique_ptr<Spawner> spawner_;
  // Makes calls for commands. Absent if the filter has no listener.
  std::optional<SideProcess> mode_calls_;
  // Null if no limit of space was requested.
  std::unique_ptr<SpaceKeeper> space_;
  // Null if no way out was requested.
  std::unique_ptr<WayOut> way_out_;
  // Null if no path of a workspace is read-only.
  std::unique_ptr<PathProtection> protection_;
  // From here on, each member may be used by those after it.
  StorageStatus storage_;
  OutputQuota quota_;
  RecordSync sync_;
  SpareParts spares_;
  CommandHost host_;
  CommandTable commands_{&host_,
                         [] { return std::make_unique<BackgroundThread>(); }};
  StrangeChildren strange_children_;
  Timer forgetting_;
  // Starts that wait for the spawner, with the ids of their requests.
  std::deque<std::pair<uint64_t, wire::StartExecution>> waiting_starts_;
  // Requests that wait for the deletion of the sandbox.
  std::vector<uint64_t> delete_requests_;
  ControlSocket control_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SUPERVISOR_H_
