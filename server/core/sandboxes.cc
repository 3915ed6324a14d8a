#include "server/core/sandboxes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/egress_services.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/core/directories.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"
#include "server/core/state_directory.h"
#include "server/core/teardown_queue.h"

namespace server {
namespace {

// The delay after which a client should retry a creation whose processes
// somebody killed.
constexpr absl::Duration kCreationRetry = absl::Milliseconds(200);

// Follows the name of a sandbox in the name of its description.
constexpr char kDescription[] = "/spec.pb";

constexpr char kWorkspaceField[] = "sandbox.workspace.path";

// The policy knows no other field than that of a workspace.
absl::string_view WithoutField(const absl::Status& refused) {
  absl::string_view message = refused.message();
  absl::ConsumePrefix(&message, absl::StrCat(kWorkspaceField, " is "));
  return message;
}

// Returns the field of the workspace that `why` begins with; see
// ReadOnlyPaths::Cover().
std::string FieldOfPaths(const wire::SandboxSpec& spec, absl::string_view why) {
  for (int i = 0; i < spec.further_workspaces_size(); ++i) {
    if (absl::StartsWith(
            why, absl::StrCat("workspace ", spec.further_workspaces(i).path(),
                              ": "))) {
      return absl::StrCat("sandbox.further_workspaces[", i,
                          "].read_only_paths");
    }
  }
  return "sandbox.workspace.read_only_paths";
}

absl::Status ToCreationError(const wire::SandboxSpec& spec,
                             const absl::Status& status) {
  if (ReasonOf(status) != corral::v1::ERROR_REASON_UNSPECIFIED) {
    return status;
  }
  switch (sandbox::FailureOf(status)) {
    case wire::Reply::WORKSPACE:
      return RefusedField(kWorkspaceField, status.message());
    case wire::Reply::READ_ONLY_PATH:
      return RefusedField(FieldOfPaths(spec, status.message()),
                          status.message());
    case wire::Reply::ISOLATION:
      return Error(absl::StatusCode::kFailedPrecondition,
                   corral::v1::ISOLATION_UNAVAILABLE, status.message());
    case wire::Reply::STORAGE:
      return StorageFailed("creation of a sandbox", status);
    case wire::Reply::SHORTAGE:
    case wire::Reply::SUPERVISOR_GONE:
      return SandboxUnavailable(spec.name(), status.message(), kCreationRetry);
    default:
      return ServerFault("creation of a sandbox", status);
  }
}

}  // namespace

Sandboxes::Sandboxes(const Environment& environment, const Options& options)
    : environment_(environment),
      options_(options),
      all_ended_(MakeRetention()),
      teardowns_(TeardownQueue::Create(environment.timers)),
      registry_(options.max_sandboxes, options.totals) {}

// In this Retention, ids are full names of executions.
std::shared_ptr<Retention> Sandboxes::MakeRetention() {
  const auto find = [this](const std::string& name) {
    const auto parts = ExecutionName::Parse("name", name);
    // Only a leftover has no valid id: see RemoveLeftover().
    return parts.ok() ? std::make_pair(registry_.Find(parts->sandbox().id()),
                                       parts->id())
                      : std::make_pair(std::shared_ptr<Sandbox>(), name);
  };
  Retention::Executions executions;
  executions.in_use = [find](const std::string& name) {
    const auto [sandbox, id] = find(name);
    return sandbox != nullptr && sandbox->IsWatched(id);
  };
  executions.remove = [find](const std::string& name, Retention::Done done) {
    const auto [sandbox, id] = find(name);
    if (sandbox == nullptr) {
      done(absl::OkStatus());
    } else {
      sandbox->Evict(id, std::move(done));
    }
  };
  return Retention::Create(
      {options_.max_ended_executions, absl::InfiniteDuration()},
      environment_.timers, std::move(executions));
}

Sandbox::Environment Sandboxes::SandboxEnvironment() {
  Sandbox::Environment environment;
  environment.activity = environment_.activity;
  environment.timers = environment_.timers;
  environment.lanes = environment_.lanes;
  environment.storage = environment_.storage;
  environment.heap = environment_.heap;
  environment.all_ended = all_ended_;
  environment.teardowns = teardowns_;
  environment.max_running = options_.max_executions_per_sandbox;
  environment.boot_id = environment_.state->boot_id();
  environment.remove_files = [this](std::shared_ptr<Sandbox> sandbox) {
    environment_.lanes->removals.Run(
        [this, sandbox = std::move(sandbox)] { Remove(sandbox, kFirstRetry); });
  };
  return environment;
}

std::shared_ptr<Sandbox> Sandboxes::MakeSandbox(const NewSandbox& sandbox,
                                                const std::string& id) {
  wire::SandboxSpec spec = ToSpec(sandbox.wanted, options_.defaults);
  spec.set_directory(environment_.state->SandboxPath(id));
  spec.set_id(id);
  spec.set_name(SandboxName(id).ToString());
  spec.set_create_time_ns(absl::ToUnixNanos(absl::Now()));
  spec.set_ephemeral(sandbox.ephemeral);
  *spec.mutable_request() = sandbox.request;
  spec.set_boot_id(environment_.state->boot_id());
  return Sandbox::Create(std::move(spec), SandboxEnvironment(),
                         Sandbox::Origin::kNew);
}

void Sandboxes::Create(const NewSandbox& wanted, Created created) {
  absl::Status demands = options_.protections.Check(wanted.wanted);
  demands.Update(
      CheckOfferedServices("sandbox", wanted.wanted, options_.defaults.egress));
  if (!demands.ok()) {
    created(demands);
    return;
  }
  const absl::StatusOr<Registry::Added> added = registry_.Add(
      wanted.id, wanted.request,
      [&](const std::string& id) { return MakeSandbox(wanted, id); });
  if (!added.ok()) {
    created(added.status());
    return;
  }
  const std::shared_ptr<Sandbox>& sandbox = added->sandbox;
  Sandbox::Done ready = [weak = std::weak_ptr<Sandbox>(sandbox),
                         spec = sandbox->spec(), created = std::move(created),
                         start = environment_.activity->BeginStart()](
                            const absl::Status& status) mutable {
    std::shared_ptr<Sandbox> made = weak.lock();
    if (!status.ok()) {
      created(ToCreationError(spec, status));
    } else if (made == nullptr) {
      created(SandboxNotFound(spec.name()));
    } else {
      created(std::move(made));
    }
  };
  // The supervisor of an earlier server's sandbox may not answer for long.
  sandbox->AwaitKnown(
      [weak = std::weak_ptr<Sandbox>(sandbox),
       ready = std::move(ready)](const absl::Status& known) mutable {
        if (const auto found = weak.lock(); known.ok() && found != nullptr) {
          found->AwaitReady(std::move(ready));
        } else {
          ready(known);
        }
      });
  if (added->is_new) {
    environment_.activity->SandboxAdded();
    sandbox->BeginLifetime();
    BeginCreation(sandbox);
  }
}

std::vector<Sandboxes::Wish> Sandboxes::WishesOf(
    const wire::SandboxSpec& spec) const {
  std::vector<Wish> wishes;
  if (!spec.workspace().empty()) {
    wishes.push_back({environment_.workspaces, spec.workspace(),
                      spec.workspace_read_only(), kWorkspaceField});
  }
  for (int i = 0; i < spec.further_workspaces_size(); ++i) {
    const wire::SandboxSpec::FurtherWorkspace& further =
        spec.further_workspaces(i);
    wishes.push_back({environment_.workspaces, further.path(),
                      further.read_only(),
                      absl::StrCat("sandbox.further_workspaces[", i, "]")});
  }
  for (int i = 0; i < spec.mounts_size(); ++i) {
    const wire::SandboxSpec::Mount& mount = spec.mounts(i);
    wishes.push_back({environment_.mounts, mount.source(), !mount.writable(),
                      absl::StrCat("sandbox.mounts[", i, "].source")});
  }
  return wishes;
}

void Sandboxes::BeginCreation(const std::shared_ptr<Sandbox>& sandbox) {
  CheckWishes(sandbox, WishesOf(sandbox->spec()));
}

void Sandboxes::CheckWishes(const std::shared_ptr<Sandbox>& sandbox,
                            std::vector<Wish> wishes) {
  if (wishes.empty()) {
    environment_.lanes->launches.Run([this, sandbox] { Make(sandbox); });
    return;
  }
  const Wish wish = wishes.front();
  wishes.erase(wishes.begin());
  wish.checks->Run(
      sandbox->spec().name(), wish.path, wish.read_only,
      [this, sandbox, field = wish.field,
       rest = std::move(wishes)](const absl::Status& allowed) mutable {
        if (allowed.ok()) {
          CheckWishes(sandbox, std::move(rest));
        } else if (absl::IsInvalidArgument(allowed) &&
                   field != kWorkspaceField) {
          GiveUp(sandbox, RefusedField(field, WithoutField(allowed)));
        } else {
          GiveUp(sandbox, allowed);
        }
      });
}

void Sandboxes::Make(const std::shared_ptr<Sandbox>& sandbox) {
  const wire::SandboxSpec& spec = sandbox->spec();
  sandbox->OnAdmitted();
  absl::Status written = environment_.state->WriteSpec(spec);
  if (absl::IsAlreadyExists(written)) {
    // The directory belongs to another sandbox, and stays.
    LOG(ERROR) << spec.name()
               << " exists on disk, but this server could not read it";
    GiveUp(sandbox, SandboxExists(spec.name()));
    return;
  }
  if (!written.ok()) {
    environment_.storage->Set(kServer, std::string(written.message()));
    sandbox->OnCreated(sandbox::WithFailure(wire::Reply::STORAGE, written));
    sandbox->Attach(nullptr);
    sandbox->OnGone(wire::SandboxEnd());
    return;
  }
  environment_.storage->Set(kServer, "");
  sandbox->OnRecorded();
  sandbox->Attach(environment_.factory->Create(
      sandbox->spec(), sandbox.get(),
      [sandbox](const absl::Status& status) { sandbox->OnCreated(status); }));
  SyncSoon(sandbox);
}

void Sandboxes::SyncSoon(const std::shared_ptr<Sandbox>& sandbox) {
  const auto sync = [this, sandbox] {
    environment_.lanes->syncs.Run([this, sandbox] {
      OnSynced(sandbox, environment_.state->SyncSpec(sandbox->spec()),
               kFirstRetry);
      environment_.state->PrepareForNext();
    });
  };
  if (options_.sync_delay > absl::ZeroDuration()) {
    environment_.timers->RunAfter(options_.sync_delay, sync);
  } else {
    sync();
  }
}

void Sandboxes::RecordAgain(const std::shared_ptr<Sandbox>& sandbox,
                            absl::Duration retry) {
  // Among the jobs of this sandbox that record new rules: see
  // ../rpc/allow_hosts.cc.
  environment_.lanes->reads.Run(sandbox->id(), [this, sandbox, retry] {
    absl::Status recorded = absl::NotFoundError("removed");
    if (registry_.Find(sandbox->id()) == sandbox) {
      recorded = StateDirectory::ReplaceSpec(sandbox->PresentSpec());
    }
    if (recorded.ok()) {
      recorded = environment_.state->SyncSpec(sandbox->spec());
    }
    OnSynced(sandbox, recorded, retry);
  });
}

void Sandboxes::OnSynced(const std::shared_ptr<Sandbox>& sandbox,
                         const absl::Status& synced, absl::Duration retry) {
  // NotFound: it is removed.
  const bool failed = !synced.ok() && !absl::IsNotFound(synced);
  const std::string& name = sandbox->spec().name();
  environment_.storage->Set(absl::StrCat(name, kDescription),
                            failed ? std::string(synced.message()) : "");
  if (failed) {
    LOG(ERROR) << name << " would not survive a crash of the machine, will "
               << "retry in " << absl::FormatDuration(retry) << ": "
               << synced.message();
    environment_.timers->RunAfter(retry, [this, sandbox, retry] {
      RecordAgain(sandbox, std::min(retry * 2, kLastRetry));
    });
  }
}

void Sandboxes::GiveUp(const std::shared_ptr<Sandbox>& sandbox,
                       const absl::Status& why) {
  registry_.Remove(*sandbox);
  sandbox->Abandon(why);
  environment_.activity->SandboxRemoved();
}

void Sandboxes::Remove(const std::shared_ptr<Sandbox>& sandbox,
                       absl::Duration retry) {
  sandbox->RemoveLeftPlaceholders();
  const absl::Status removed = RemoveDirectory(sandbox->spec().directory());
  if (!removed.ok()) {
    LOG(ERROR) << "cannot remove the files of " << sandbox->spec().name()
               << ", will retry in " << absl::FormatDuration(retry) << ": "
               << removed.message();
    environment_.timers->RunAfter(retry, [this, sandbox, retry] {
      environment_.lanes->removals.Run([this, sandbox, retry] {
        Remove(sandbox, std::min(retry * 2, kLastRetry));
      });
    });
    return;
  }
  registry_.Remove(*sandbox);
  sandbox->OnFilesRemoved();
  environment_.activity->SandboxRemoved();
}

void Sandboxes::DeleteAll(wire::ExitRecord::Cause cause) {
  for (const auto& sandbox : registry_.List("", registry_.size())) {
    sandbox->Delete(cause, [](const absl::Status&) {});
  }
}

void Sandboxes::RemoveBlankDirectories() {
  environment_.lanes->removals.Run(
      [state = environment_.state] { state->PrepareNoMore(); });
}

size_t Sandboxes::Living() const {
  const auto sandboxes = registry_.List("", registry_.size());
  return static_cast<size_t>(
      std::count_if(sandboxes.begin(), sandboxes.end(),
                    [](const auto& sandbox) { return !sandbox->gone(); }));
}

}  // namespace server
