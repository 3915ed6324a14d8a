#include "server/core/sandboxes.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"
#include "server/core/state_directory.h"

namespace server {
namespace {

// Between attempts to connect to a supervisor.
constexpr absl::Duration kAdoptionRetry = absl::Milliseconds(200);

// Between attempts to remove a directory: the first, doubled up to the last.
constexpr absl::Duration kFirstRetry = absl::Milliseconds(100);
constexpr absl::Duration kLastRetry = absl::Minutes(1);

// Until a client asks again for a sandbox whose processes somebody killed.
constexpr absl::Duration kCreationRetry = absl::Milliseconds(200);

// How the server itself is named among those that write.
constexpr char kServer[] = "corrald";

absl::Status ToCreationError(const wire::SandboxSpec& spec,
                             const absl::Status& status) {
  if (ReasonOf(status) != corral::v1::ERROR_REASON_UNSPECIFIED) {
    return status;
  }
  switch (sandbox::FailureOf(status)) {
    case wire::Reply::WORKSPACE:
      return RefusedField("sandbox.workspace.path", status.message());
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

wire::SandboxEnd EndOf(wire::SandboxEnd::Cause cause,
                       absl::string_view message) {
  wire::SandboxEnd end;
  end.set_cause(cause);
  end.set_message(std::string(message));
  return end;
}

bool HasRebooted(const wire::SandboxSpec& spec, const StateDirectory& state) {
  return !spec.boot_id().empty() && spec.boot_id() != state.boot_id();
}

// Why the supervisor of this sandbox is dead.
wire::SandboxEnd WhyDead(const wire::SandboxSpec& spec,
                         const StateDirectory& state,
                         const absl::Status& not_found) {
  const wire::SandboxEnd unknown =
      HasRebooted(spec, state)
          ? EndOf(wire::SandboxEnd::HOST_RESTARTED, "the host went down")
          : EndOf(wire::SandboxEnd::SUPERVISOR_DIED,
                  absl::StrCat("the supervisor died: ", not_found.message()));
  return StateDirectory::ReadFailure(spec.directory()).value_or(unknown);
}

}  // namespace

Sandboxes::Sandboxes(const Environment& environment, const Options& options)
    : environment_(environment),
      options_(options),
      all_ended_(MakeRetention()),
      registry_(options.max_sandboxes, options.max_output_bytes) {}

// Its ids are the names of executions.
std::shared_ptr<Retention> Sandboxes::MakeRetention() {
  const auto find = [this](const std::string& name) {
    const auto parts = ExecutionName::Parse("name", name);
    return std::make_pair(registry_.Find(parts->sandbox().id()), parts->id());
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
  environment.all_ended = all_ended_;
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
    environment_.lanes->launches.Run(
        [this, sandbox = added->sandbox] { Make(sandbox); });
  }
}

void Sandboxes::Make(const std::shared_ptr<Sandbox>& sandbox) {
  const wire::SandboxSpec& spec = sandbox->spec();
  const absl::Status allowed =
      spec.workspace().empty()
          ? absl::OkStatus()
          : environment_.workspaces->Check(spec.workspace(),
                                           spec.workspace_read_only());
  if (!allowed.ok()) {
    GiveUp(sandbox, allowed);
    return;
  }
  const absl::Status written = environment_.state->WriteSpec(spec);
  if (absl::IsAlreadyExists(written)) {
    // The directory is another sandbox's, and stays.
    LOG(ERROR) << spec.name()
               << " exists on disk, but this server could not read it";
    GiveUp(sandbox, SandboxExists(spec.name()));
    return;
  }
  environment_.storage->Set(kServer, std::string(written.message()));
  if (!written.ok()) {
    sandbox->OnCreated(sandbox::WithFailure(wire::Reply::STORAGE, written));
    sandbox->Attach(nullptr);
    sandbox->OnGone(
        EndOf(wire::SandboxEnd::SUPERVISOR_DIED, written.message()));
    return;
  }
  sandbox->Attach(environment_.factory->Create(
      sandbox->spec(), sandbox.get(),
      [sandbox](const absl::Status& status) { sandbox->OnCreated(status); }));
}

void Sandboxes::GiveUp(const std::shared_ptr<Sandbox>& sandbox,
                       const absl::Status& why) {
  registry_.Remove(*sandbox);
  sandbox->Abandon(why);
  environment_.activity->SandboxRemoved();
}

void Sandboxes::Remove(const std::shared_ptr<Sandbox>& sandbox,
                       absl::Duration retry) {
  const absl::Status removed =
      StateDirectory::Remove(sandbox->spec().directory());
  if (!removed.ok()) {
    LOG(ERROR) << "removal of " << sandbox->spec().name() << ": "
               << removed.message() << "; tried again in "
               << absl::FormatDuration(retry);
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

bool Sandboxes::HasProcesses() const {
  const auto sandboxes = registry_.List("", registry_.size());
  return std::any_of(sandboxes.begin(), sandboxes.end(),
                     [](const auto& sandbox) { return !sandbox->gone(); });
}

absl::Status Sandboxes::Recover() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   environment_.state->ListSandboxes());
  // All descriptions are read before any record: the lane is first come, first
  // served. From then on no request can make a sandbox a second time.
  using Found = std::promise<std::shared_ptr<Sandbox>>;
  std::vector<std::future<std::shared_ptr<Sandbox>>> found;
  found.reserve(names.size());
  for (const std::string& name : names) {
    auto promise = std::make_shared<Found>();
    found.push_back(promise->get_future());
    environment_.lanes->records.Run([this, name, promise] {
      promise->set_value(RecoverOne(name, kFirstRetry));
    });
  }
  std::vector<std::pair<std::string, std::future<void>>> known;
  for (auto& future : found) {
    if (const std::shared_ptr<Sandbox> sandbox = future.get();
        sandbox != nullptr) {
      auto promise = std::make_shared<std::promise<void>>();
      known.emplace_back(sandbox->spec().name(), promise->get_future());
      sandbox->AwaitReady(
          [promise](const absl::Status&) { promise->set_value(); });
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + kRecoveryPatience;
  for (auto& [name, future] : known) {
    if (future.wait_until(deadline) != std::future_status::ready) {
      LOG(WARNING) << name << ": its records or its supervisor are not known "
                   << "yet; the server serves without it";
    }
  }
  return absl::OkStatus();
}

std::shared_ptr<Sandbox> Sandboxes::RecoverOne(const std::string& name,
                                               absl::Duration retry) {
  if (!IsValidId(name)) {
    environment_.lanes->removals.Run([this, name] { RemoveLeftover(name); });
    return nullptr;
  }
  if (registry_.Find(name) != nullptr) {
    return nullptr;  // made anew meanwhile
  }
  absl::StatusOr<wire::SandboxSpec> spec = environment_.state->ReadSpec(name);
  const std::string path = environment_.state->SandboxPath(name);
  // The description is on the disk before a supervisor is asked: what a
  // supervisor has made is never removed for want of a description.
  if ((absl::IsNotFound(spec.status()) || absl::IsDataLoss(spec.status())) &&
      StateDirectory::IsUnborn(path)) {
    LOG(WARNING) << "removing a torn sandbox: " << spec.status().message();
    RemoveLeftover(name);
    return nullptr;
  }
  if (!spec.ok()) {
    LOG(ERROR) << "sandbox " << name
               << " is left alone: " << spec.status().message();
    environment_.timers->RunAfter(retry, [this, name, retry] {
      environment_.lanes->records.Run([this, name, retry] {
        RecoverOne(name, std::min(retry * 2, kLastRetry));
      });
    });
    return nullptr;
  }
  spec->set_directory(path);
  const auto deletion = StateDirectory::ReadDeletion(path);
  if (!deletion.has_value() &&
      spec->boot_id() == environment_.state->boot_id() &&
      StateDirectory::IsUnborn(path)) {
    LOG(WARNING) << "removing a sandbox that was never made: " << name;
    RemoveLeftover(name);
    return nullptr;
  }
  auto sandbox = Sandbox::Create(*spec, SandboxEnvironment(),
                                 Sandbox::Origin::kEarlierServer);
  if (!registry_.AddExisting(sandbox)) {
    LOG(ERROR) << "the id of " << spec->name() << " is taken; it is ignored";
    return nullptr;
  }
  TakeOver(sandbox);
  sandbox->BeginLifetime();
  if (deletion.has_value()) {
    sandbox->Delete(deletion->cause(), [](const absl::Status&) {});
  } else if (spec->ephemeral()) {
    sandbox->BeginViewing();
    sandbox->EndViewing();
  }
  return sandbox;
}

void Sandboxes::TakeOver(const std::shared_ptr<Sandbox>& sandbox) {
  environment_.activity->SandboxAdded();
  sandbox->BeginRecovery();
  environment_.lanes->launches.Run([this, sandbox] { Adopt(sandbox); });
}

void Sandboxes::Adopt(const std::shared_ptr<Sandbox>& sandbox) {
  const wire::SandboxSpec& spec = sandbox->spec();
  absl::StatusOr<std::unique_ptr<sandbox::SupervisorConnection>> adopted =
      environment_.factory->Adopt(spec, sandbox.get());
  const bool dead = absl::IsNotFound(adopted.status());
  if (!adopted.ok() && !dead) {
    // Such as too many open files here, or a full queue of connections there:
    // the supervisor may live.
    LOG(ERROR) << spec.name()
               << " is not taken over yet: " << adopted.status().message();
    environment_.timers->RunAfter(kAdoptionRetry, [this, sandbox] {
      environment_.lanes->launches.Run([this, sandbox] { Adopt(sandbox); });
    });
    return;
  }
  environment_.lanes->removals.Run([path = spec.directory(), dead] {
    StateDirectory::RemoveLeftovers(path, /*all=*/dead);
  });
  if (dead) {
    sandbox->Attach(nullptr);
    sandbox->OnGone(WhyDead(spec, *environment_.state, adopted.status()));
  } else {
    sandbox->Attach(*std::move(adopted));
  }
}

void Sandboxes::RemoveLeftover(const std::string& name) {
  const std::string path = environment_.state->SandboxPath(name);
  if (StateDirectory::RemoveUnborn(path).ok()) {
    return;
  }
  // A supervisor listens there, or something cannot be removed.
  wire::SandboxSpec spec;
  spec.set_directory(StateDirectory::RemovedPath(path));
  spec.set_id(name);
  spec.set_name(SandboxName(name).ToString());
  const std::shared_ptr<Sandbox> sandbox = Sandbox::Create(
      std::move(spec), SandboxEnvironment(), Sandbox::Origin::kEarlierServer);
  TakeOver(sandbox);
  // The registry does not hold it: it holds itself until nothing is left.
  sandbox->Delete(wire::ExitRecord::SANDBOX_DELETED,
                  [sandbox](const absl::Status&) {});
}

}  // namespace server
