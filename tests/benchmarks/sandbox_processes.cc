#include "tests/benchmarks/sandbox_processes.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/corral.h"
#include "tests/benchmarks/processes.h"

namespace tests {
namespace {

// Those of an idle sandbox; see SandboxProcesses.
constexpr size_t kProcesses = 4;

// The child of `server` from which a process with that argument comes.
absl::StatusOr<pid_t> FindSupervisor(const std::string& argument,
                                     pid_t server) {
  const std::map<pid_t, pid_t> parents = ReadParents();
  for (const auto& [pid, parent] : parents) {
    if (!absl::StrContains(ReadArguments(pid), argument)) {
      continue;
    }
    pid_t ancestor = pid;
    while (parents.count(ancestor) > 0 && parents.at(ancestor) != server) {
      ancestor = parents.at(ancestor);
    }
    if (parents.count(ancestor) > 0) {
      return ancestor;
    }
  }
  return absl::NotFoundError("no supervisor runs the command");
}

}  // namespace

absl::StatusOr<SandboxProcesses> FindProcesses(Corral& corral,
                                               const std::string& sandbox,
                                               pid_t server) {
  // A time to sleep that no other process has.
  const std::string argument = absl::StrCat("3599.", getpid());
  ASSIGN_OR_RETURN(const std::string execution,
                   corral.Start(sandbox, {"/bin/sleep", argument}));
  const absl::StatusOr<pid_t> supervisor = FindSupervisor(argument, server);
  RETURN_IF_ERROR(corral.DeleteExecution(execution));
  RETURN_IF_ERROR(supervisor.status());
  SandboxProcesses found = {*supervisor, 0, ReadTree(*supervisor)};
  for (const pid_t pid : found.all) {
    if (ReadName(pid) == "corral-spawner") {
      found.spawner = pid;
    }
  }
  if (found.all.size() != kProcesses || found.spawner == 0) {
    return absl::InternalError(absl::StrCat("a sandbox should be ", kProcesses,
                                            " processes and is ",
                                            found.all.size()));
  }
  return found;
}

}  // namespace tests
