#include "sandbox/supervisor/space_keeper.h"

#include <linux/capability.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/directory_quota.h"
#include "sandbox/kernel/privileges.h"
#include "sandbox/supervisor/construction_report.h"
#include "sandbox/supervisor/spec_mounts.h"

namespace sandbox {
namespace {

constexpr char kName[] = "corral-space";

// The part that runs in the process beside the supervisor. Returns when the
// limits are removed.
int Keep(const UniqueFd& socket, const UniqueFd& init,
         absl::StatusOr<std::vector<DirectoryQuota>> quotas) {
  absl::Status begun = quotas.status();
  if (begun.ok()) {
    begun = KeepAtMost({CAP_SYS_ADMIN});
  }
  SendReport(socket.get(), begun, {});
  if (!SideProcess::AwaitSandboxEnd(socket, init)) {
    LOG(WARNING) << kName << ": the sandbox does not end; its limits stay";
    ::_exit(1);
  }
  return begun.ok() ? 0 : 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SpaceKeeper>> SpaceKeeper::Begin(
    const Child& init, const std::vector<WorkspaceMount>& workspaces,
    const std::vector<UniqueFd>& mounts, const SpaceLimits& limits) {
  std::vector<int> kept = {init.pidfd.get()};
  for (const UniqueFd& mount : mounts) {
    kept.push_back(mount.get());
  }
  ASSIGN_OR_RETURN(SideProcess process,
                   SideProcess::Start(kName, kept, [&](const UniqueFd& socket) {
                     return Keep(socket, init.pidfd,
                                 LimitSpace(workspaces, mounts, limits));
                   }));
  // Owned from here on: its destructor ends the process in order.
  std::unique_ptr<SpaceKeeper> keeper(new SpaceKeeper(std::move(process)));
  RETURN_IF_ERROR(ReceiveReport(keeper->process_.socket(), kName).status());
  return keeper;
}

SpaceKeeper::SpaceKeeper(SideProcess process) : process_(std::move(process)) {}

SpaceKeeper::~SpaceKeeper() { process_.ReportSandboxEnd(); }

}  // namespace sandbox
