// The commands of one sandbox by the id of their execution, from their start to
// the removal of what is left of them. Once a command is spent, the table keeps
// an EndedCommand in its place, and once that is synced and its files say all
// that it says, only a trace of eight bytes. See "What is kept of an execution
// that has ended" in README.md.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_SUPERVISOR_COMMAND_TABLE_H_
#define SANDBOX_SUPERVISOR_COMMAND_TABLE_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/timer.h"
#include "sandbox/supervisor/command_host.h"
#include "sandbox/supervisor/ended_command.h"
#include "sandbox/supervisor/ended_reading.h"
#include "sandbox/supervisor/forgotten_executions.h"
#include "sandbox/supervisor/supervised_command.h"

namespace sandbox {

class CommandTable {
 public:
  using Done = std::function<void(const absl::Status&)>;
  using Found = std::variant<SupervisedCommand*, EndedCommand*>;

  // `host` outlives this, is complete before the first Start(), and reports
  // each end with OnEnd(). `make_background` makes the threads that read ends.
  CommandTable(CommandHost* host, EndedReading::MakeBackground make_background)
      : host_(host), make_background_(std::move(make_background)) {}

  // Calls `done` when the command runs or has failed to start, or with the
  // error that prevented the attempt, such as EXECUTION_EXISTS if the id is
  // taken.
  void Start(wire::StartExecution start, const Done& done);
  // Fails with NO_SUCH_EXECUTION if there is none, and with SHORTAGE if it has
  // ended and its files cannot be read now. What it returns is valid until the
  // caller returns to the loop.
  absl::StatusOr<Found> Find(const std::string& id);
  // Kills the command, waits for its end and removes everything of it, then
  // calls `done`.
  void Delete(const std::string& id, const Done& done);
  // The end of the command was reported; the command may be on the stack.
  void OnEnd(const std::string& id);
  // The end of the execution whose file is `path` is synced.
  void OnSynced(const std::string& path);
  // Discards the output of the first forgotten execution whose output takes
  // space. Returns false if there is none, or it cannot be read now.
  bool ExpireForgotten();

  // Returns true if this is the process of a command, which has not been
  // reaped.
  bool Owns(pid_t pid);
  // Reaps the command whose process this is. Returns false if the process
  // belongs to no command.
  bool ReapIfOwn(pid_t pid);

  // The sandbox is about to be deleted, and all commands with it.
  void Condemn(wire::ExitRecord::Cause cause);
  bool AnyRuns() const;
  // Returns true if a command was killed because init ended.
  bool AnyIsLost() const;
  void ReleaseCgroups();
  void Clear();

  // Calls `done` with the reports of all executions: now if none is forgotten,
  // else once the files of those are read. After a second call while the first
  // one waits, only the second `done` is called.
  void Report(EndedReading::Done done);

 private:
  using Ended = std::map<std::string, EndedCommand>::iterator;

  bool InMemory(const std::string& id) const {
    return commands_.count(id) != 0 || ended_.count(id) != 0;
  }
  // Makes an EndedCommand of a forgotten execution, for as long as somebody
  // needs it. Fails as Find() does.
  absl::StatusOr<EndedCommand*> Remember(const std::string& id);
  // The same for the removal of its files, which need not be read for that.
  absl::Status RememberForRemoval(const std::string& id);
  EndedCommand& AddRemembered(const wire::ExecutionRecord& report);
  // Keeps only a trace of the execution, if its files have everything else.
  void TryForget(Ended ended);
  // Tries it with all, a little later.
  void ForgetLater();
  // Gives the memory of those that were forgotten back to the kernel, when no
  // more come.
  void TrimLater();
  absl::StatusOr<std::vector<std::string>> ListForgotten() const;
  void OnForgottenRead(wire::Snapshot read);
  // Prepares what the next command needs, instead of when it was to be done.
  // Does nothing in a sandbox for one command.
  void PrepareForNext(absl::Duration delay);
  // The same in any sandbox.
  void PrepareAfter(absl::Duration delay);
  // Replaces each spent command by an EndedCommand.
  void ShrinkSpent();
  // Retries after `pause` if a process is left.
  void TryRemove(const std::string& id, absl::Duration pause);

  CommandHost* const host_;
  Timer preparation_;
  // No id is in both.
  std::map<std::string, std::unique_ptr<SupervisedCommand>> commands_;
  std::map<std::string, EndedCommand> ended_;
  // Those of which only the files are left.
  ForgottenExecutions forgotten_;
  // Commands that are not spent, though their end is synced.
  std::set<std::string> synced_;
  // Pending while something may be forgotten that could not be before.
  Timer forgetting_;
  // How many were forgotten since memory was given back last.
  int untrimmed_ = 0;
  Timer trimming_;
  // The executions that are being deleted, with the callbacks that wait for it.
  // Meanwhile none is replaced.
  std::map<std::string, std::vector<Done>> removals_;
  const EndedReading::MakeBackground make_background_;
  // Reads those that are forgotten; meanwhile nothing else is.
  std::optional<EndedReading> reading_;
  EndedReading::Done report_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_TABLE_H_
