// Sandboxes for tests, made and taken down as a supervisor does.

#ifndef SANDBOX_SUPERVISOR_CONSTRUCTION_FIXTURE_H_
#define SANDBOX_SUPERVISOR_CONSTRUCTION_FIXTURE_H_

#include <signal.h>
#include <sys/wait.h>

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/id_range.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/supervisor/construction.h"

namespace sandbox {

// The ids and groups that a supervisor has before it makes a sandbox.
struct Ground {
  IdRange ids;
  Cgroup cgroup;
  // Invalid with v1.
  Cgroup init;

  // The group of the sandbox's own processes.
  const Cgroup& home() const { return init.valid() ? init : cgroup; }
};

inline absl::StatusOr<Ground> Prepare() {
  Ground ground;
  ASSIGN_OR_RETURN(ground.ids, IdRange::Acquire());
  ASSIGN_OR_RETURN(const CgroupHost host, CgroupHost::Find());
  ASSIGN_OR_RETURN(
      ground.cgroup,
      Cgroup::Create(
          host, absl::StrCat(kSandboxCgroup, ground.ids.first_id() >> 16)));
  RETURN_IF_ERROR(ground.cgroup.Delegate(ground.ids.first_id()));
  if (host.version == CgroupVersion::kV2) {
    ASSIGN_OR_RETURN(ground.init, ground.cgroup.CreateChild("init"));
  }
  return ground;
}

inline absl::StatusOr<Construction> ConstructOn(const Ground& ground) {
  return Construct(ground.ids.first_id(), ground.cgroup, ground.home(),
                   seccomp::Profile::kDefault);
}

// Makes a sandbox, calls `use` with it and the group of its processes, and
// takes it down again.
inline absl::Status Make(
    const std::function<void(Construction&, const Cgroup& home)>& use) {
  ASSIGN_OR_RETURN(const Ground ground, Prepare());
  absl::StatusOr<Construction> made = ConstructOn(ground);
  if (made.ok()) {
    use(*made, ground.home());
    for (const Child* child : {&made->init, &made->spawner}) {
      ::kill(child->pid, SIGKILL);
    }
  }
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  return made.status();
}

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CONSTRUCTION_FIXTURE_H_
