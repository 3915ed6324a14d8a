#include "sandbox/supervisor/construction.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/filter_error.h"
#include "sandbox/base/high_fd.h"
#include "sandbox/base/reset_signals.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/cgroup_view.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/privileges.h"
#include "sandbox/kernel/visit.h"
#include "sandbox/seccomp/seccomp.h"
#include "sandbox/supervisor/construction_report.h"
#include "sandbox/supervisor/init_program.h"

namespace sandbox {
namespace {

using seccomp::Profile;
using Step = ConstructionTimes::Step;

// The same name in all sandboxes, since a spare is made before its request is
// known.
constexpr const char* kHostName = "corral";
// Enough for a build whose actions have namespaces of their own.
constexpr int kNestedNamespaces = 64;
// The sandbox's own may count, and the mounts that cover a path are made one by
// one.
constexpr int kCoverNamespaces = 4;

absl::Status Confine(std::initializer_list<int> capabilities, CoreLimit core) {
  // Commands must not inherit what the supervisor, or the process that started
  // corrald, ignores.
  ResetSignals();
  RETURN_IF_ERROR(SetResourceLimits(core));
  return KeepOnly(capabilities);
}

// Sets a limit behind namespaces and ids, for the case that one of them is
// shared or fails. ProbeIsolation() reports a host without it.
absl::Status ScopeIfPossible() {
  const absl::Status entered = EnterLandlockDomain();
  return absl::IsUnimplemented(entered) ? absl::OkStatus() : entered;
}

absl::Status BecomeInit(const Construction& made, const Cgroup& cgroup,
                        const HostTrees& host, int image, int socket) {
  RETURN_IF_ERROR(DieWithParent());
  char go;
  if (::read(socket, &go, 1) != 1) {
    return absl::CancelledError("the supervisor is gone");
  }
  if (made.first_id == kNoRange) {
    // Later, the file belongs to nobody. The supervisor of a sandbox with ids
    // of its own writes it: see OfferToOomKiller().
    BecomeFirstOomVictim().IgnoreError();
  }
  RETURN_IF_ERROR(cgroup.Enter());
  made.times.Note(Step::kJoin);
  RETURN_IF_ERROR(BecomeSandboxRoot(made.first_id));
  RETURN_IF_ERROR(DieWithParent());
  RETURN_IF_ERROR(FinishNamespaces(kHostName));
  ASSIGN_OR_RETURN(const NamespaceLimits limits, OpenNamespaceLimits());
  ASSIGN_OR_RETURN(const SandboxTree tree, Build(host));
  made.times.Note(Step::kMounts);
  RETURN_IF_ERROR(LimitNamespaces(limits, 0));
  RETURN_IF_ERROR(ArrangeFds({}));
  // The program gives up its system calls itself: see ../init/reaper.cc.
  RETURN_IF_ERROR(Confine({}, CoreLimit::kOne));
  SendReport(socket, absl::OkStatus(), {tree.devpts.get(), tree.root.get()});
  return ExecuteImage(image, kInitName);
}

absl::Status ConfineSpawner(uint32_t first_id, const Cgroup& home) {
  const CoreLimit core = home.valid() ? CoreLimit::kOne : CoreLimit::kInherited;
  if (first_id == kNoRange) {
    return Confine({}, core);  // it is the commands' user already
  }
  // SETPCAP only to empty the bounding set after the exec, which takes user
  // 0's capabilities from it.
  return Confine({CAP_SETUID, CAP_SETGID, CAP_SETPCAP}, core);
}

absl::Status BecomeSpawner(const Construction& made, int image, int socket,
                           int exchange, const Cgroup& home, Profile profile) {
  RETURN_IF_ERROR(home.Enter());
  RETURN_IF_ERROR(BecomeSandboxRoot(made.first_id));
  RETURN_IF_ERROR(DieWithParent());
  RETURN_IF_ERROR(ArrangeFds({socket, exchange}));
  ::umask(022);  // commands'
  RETURN_IF_ERROR(ConfineSpawner(made.first_id, home));
  // Commands inherit the domain. Init is outside of it, as are the processes
  // that the supervisor sends into the sandbox.
  RETURN_IF_ERROR(ScopeIfPossible());
  // Loaded last, since the steps above need calls that it refuses; commands
  // inherit it.
  made.times.Note(Step::kSpawner);
  const absl::StatusOr<UniqueFd> listener = seccomp::LoadProfile(profile);
  if (absl::IsFailedPrecondition(listener.status())) {
    return WithFailure(wire::Reply::ISOLATION, listener.status());
  }
  RETURN_IF_ERROR(listener.status());
  made.times.Note(Step::kFilter);
  SendReport(socket, absl::OkStatus(),
             listener->valid() ? std::vector<int>{listener->get()}
                               : std::vector<int>());
  return ExecuteImage(image, kSpawnerName);
}

// Returns why init ends.
absl::Status InitError(const Child& init) {
  siginfo_t info = {};
  const bool ended = ::waitid(P_PIDFD, static_cast<id_t>(init.pidfd.get()),
                              &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                     info.si_code == CLD_EXITED;
  return ended && info.si_status == kInitLacksFilterMemory
             ? WithFailure(wire::Reply::ISOLATION,
                           FilterError(kNoFilterMemory, "init"))
             : KilledError("init");
}

int EntryForClone(const Cgroup& home) {
  return home.valid() && home.version() == CgroupVersion::kV2
             ? home.EntryFds()[0]
             : -1;
}

absl::Status StartInit(uint32_t first_id, const Cgroup& cgroup, int image,
                       Construction& made) {
  ASSIGN_OR_RETURN(HostTrees host, Gather());
  RETURN_IF_ERROR(LendCgroups(cgroup.version(), cgroup.Directories(), host));
  ASSIGN_OR_RETURN(ReportSockets pair, MakeReportSockets());
  absl::StatusOr<Child> child =
      CloneIntoNamespaces(EntryForClone(cgroup),
                          first_id == kNoRange ? ::geteuid() : uid_t{first_id});
  if (!child.ok()) {
    return MakeFailure(wire::Reply::ISOLATION,
                       absl::StrCat("namespaces: ", child.status().message()));
  }
  if (child->pid == 0) {
    pair.ours.Reset();
    ReportAndExit(pair.theirs.get(),
                  BecomeInit(made, cgroup, host, image, pair.theirs.get()));
  }
  made.init = *std::move(child);
  pair.theirs.Reset();
  if (first_id != kNoRange) {
    // Without ids of its own, no process has the right to this setting, and
    // this one could not return from the ipc namespace.
    RETURN_IF_ERROR(RemoveUnusedSharedMemory(made.init.pidfd.get()));
  }
  RETURN_IF_ERROR(MapIds(made.init.pid, first_id));
  made.times.Note(Step::kNamespaces);
  if (::write(pair.ours.get(), "g", 1) != 1) {
    return KilledError("init");
  }
  ASSIGN_OR_RETURN(std::vector<UniqueFd> fds,
                   ReceiveReport(pair.ours.get(), "init"));
  made.times.Note(Step::kInit);
  if (fds.size() != 2) {
    return absl::InternalError("init sent no descriptors");
  }
  made.devpts = std::move(fds[0]);
  made.root = std::move(fds[1]);
  return absl::OkStatus();
}

absl::Status StartSpawner(const Cgroup& home, int image, Profile profile,
                          Construction& made) {
  ASSIGN_OR_RETURN(ReportSockets pair, MakeReportSockets());
  ASSIGN_OR_RETURN(made.exchange, MakeExchange());
  UniqueFd socket = DuplicateHigh(pair.theirs.get());
  const UniqueFd exchange = DuplicateHigh(made.exchange.get());
  absl::StatusOr<Child> child = ForkIntoSandbox(made, EntryForClone(home));
  if (!child.ok()) {
    return child.status();
  }
  if (child->pid == 0) {
    ReportAndExit(socket.get(), BecomeSpawner(made, image, socket.get(),
                                              exchange.get(), home, profile));
  }
  made.spawner = *std::move(child);
  pair.theirs.Reset();
  socket.Reset();
  ASSIGN_OR_RETURN(std::vector<UniqueFd> fds,
                   ReceiveReport(pair.ours.get(), "the spawner"));
  made.listener = fds.empty() ? UniqueFd() : std::move(fds[0]);
  RETURN_IF_ERROR(ReceiveFirstPacket(pair.ours.get(), "the spawner"));
  made.times.Note(Step::kReady);
  made.spawner_socket = std::move(pair.ours);
  return absl::OkStatus();
}

// Prefers the sandbox to the host's processes when memory runs out. Fails only
// if a process has ended: a container may not be allowed to choose.
absl::Status OfferToOomKiller(const Construction& made) {
  for (const Child* child : {&made.init, &made.spawner}) {
    const absl::Status offered = MakeFirstOomVictim(child->pid);
    if (!offered.ok() && !absl::IsPermissionDenied(offered)) {
      return offered;
    }
  }
  return absl::OkStatus();
}

// Completes the sandbox around a running init: starts the spawner.
absl::Status Inhabit(const Cgroup& cgroup, const Cgroup& home, int image,
                     Profile profile, Construction& made) {
  // With v2, init was born in the sandbox's group, so that its cgroup namespace
  // is rooted there: nobody may put a process into a group that is not in its
  // cgroup namespace, and the spawner shares init's. Now it must leave: a group
  // that holds a process hands no controllers on.
  absl::Status status;
  if (home.valid()) {
    status = home.Take(made.init.pid);
  }
  if (status.ok() && cgroup.valid()) {
    status = cgroup.HandOn();
  }
  if (status.ok()) {
    status = StartSpawner(home, image, profile, made);
  }
  if (status.ok()) {
    status = OfferToOomKiller(made);
  }
  return status.ok() || !IsExiting(made.init.pid) ? status
                                                  : InitError(made.init);
}

bool HasReadOnlyPaths(const Particulars& particulars) {
  return std::any_of(particulars.workspaces.begin(),
                     particulars.workspaces.end(),
                     [](const WorkspaceMount& each) {
                       return !each.read_only && !each.read_only_paths.empty();
                     });
}

absl::Status CompleteInside(const Construction& made, int sysctls,
                            const std::vector<HostTree>& workspaces,
                            const Particulars& particulars) {
  const int root = made.root.get();
  RETURN_IF_ERROR(BecomeSandboxRoot(made.first_id));
  if (particulars.memory_bytes != 0) {
    RETURN_IF_ERROR(LimitScratch(root, particulars.memory_bytes));
  }
  if (particulars.profile == Profile::kNested) {
    RETURN_IF_ERROR(UncoverProc(root));
    ASSIGN_OR_RETURN(const NamespaceLimits limits, OpenNamespaceLimits());
    RETURN_IF_ERROR(LimitNamespaces(limits, kNestedNamespaces));
  } else if (HasReadOnlyPaths(particulars)) {
    RETURN_IF_ERROR(AllowMountNamespaces(sysctls, kCoverNamespaces));
  }
  for (const HostTree& workspace : workspaces) {
    RETURN_IF_ERROR(Attach(root, workspace));
  }
  return absl::OkStatus();
}

void Kill(Child& child) {
  if (child.pidfd.valid()) {
    ::syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0);
    siginfo_t info;
    ::waitid(P_PIDFD, static_cast<id_t>(child.pidfd.get()), &info, WEXITED);
  }
}

void Abandon(Construction& made) {
  Kill(made.spawner);
  Kill(made.init);
}

}  // namespace

absl::StatusOr<Construction> Construct(uint32_t first_id, const Cgroup& cgroup,
                                       const Cgroup& home, Profile profile) {
  Construction made;
  made.first_id = first_id;
  made.times = ConstructionTimes::Start();
  made.times.Note(Step::kGroups);
  ASSIGN_OR_RETURN(const UniqueFd low, MakeImage());
  const UniqueFd image = DuplicateHigh(low.get());
  absl::Status status = StartInit(first_id, cgroup, image.get(), made);
  if (!status.ok() && !absl::IsAborted(status)) {
    // Perhaps a file of the host's /etc was replaced between the two steps that
    // lend it, as ldconfig does with ld.so.cache.
    Abandon(made);
    ConstructionTimes times = std::move(made.times);
    made = Construction();
    made.first_id = first_id;
    made.times = std::move(times);
    status = StartInit(first_id, cgroup, image.get(), made);
  }
  if (status.ok()) {
    status = Inhabit(cgroup, home, image.get(), profile, made);
  }
  if (!status.ok()) {
    Abandon(made);
    return status;
  }
  return made;
}

absl::StatusOr<Child> ForkIntoSandbox(const Construction& made, int cgroup) {
  const int init = made.init.pidfd.get();
  return made.first_id == kNoRange ? ForkBeside(init, cgroup)
                                   : ForkInto(init, cgroup);
}

absl::Status ReplaceSpawner(const Cgroup& home, Profile profile,
                            Construction& made) {
  ASSIGN_OR_RETURN(const UniqueFd low, MakeImage());
  const UniqueFd image = DuplicateHigh(low.get());
  Kill(made.spawner);
  RETURN_IF_ERROR(StartSpawner(home, image.get(), profile, made));
  return OfferToOomKiller(made);
}

absl::StatusOr<std::vector<UniqueFd>> Complete(const Construction& made,
                                               const Particulars& particulars) {
  std::vector<HostTree> workspaces;
  for (const WorkspaceMount& mount : particulars.workspaces) {
    ASSIGN_OR_RETURN(HostTree workspace, LendWorkspace(mount));
    workspaces.push_back(std::move(workspace));
  }
  const UniqueFd sysctls(::open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const absl::Status completed = Visit(made.init.pidfd.get(), [&] {
    const absl::Status inside =
        CompleteInside(made, sysctls.get(), workspaces, particulars);
    // The code of an errno may be Aborted, which stands for a killed process.
    return FailureOf(inside) == wire::Reply::FAULT
               ? MakeFailure(
                     wire::Reply::FAULT,
                     absl::StrCat("complete the mounts: ", inside.message()))
               : inside;
  });
  if (!completed.ok()) {
    return IsExiting(made.init.pid) ? InitError(made.init) : completed;
  }
  std::vector<UniqueFd> mounts;
  mounts.reserve(workspaces.size());
  for (HostTree& workspace : workspaces) {
    mounts.push_back(std::move(workspace.tree));
  }
  return mounts;
}

}  // namespace sandbox
