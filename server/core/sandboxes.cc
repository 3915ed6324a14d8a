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

// A supervisor that does not answer must not keep the server from starting.
constexpr std::chrono::milliseconds kSnapshotPatience(300);

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

}  // namespace

Sandboxes::Sandboxes(const Environment& environment, const Options& options)
    : environment_(environment),
      options_(options),
      registry_(options.max_sandboxes, options.max_output_bytes) {}

Sandbox::Environment Sandboxes::SandboxEnvironment() {
  Sandbox::Environment environment;
  environment.activity = environment_.activity;
  environment.timers = environment_.timers;
  environment.lanes = environment_.lanes;
  environment.storage = environment_.storage;
  environment.max_executions = options_.max_executions_per_sandbox;
  environment.on_emptied = [this](std::shared_ptr<Sandbox> sandbox) {
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
  return std::make_shared<Sandbox>(std::move(spec), SandboxEnvironment());
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
  // A supervisor of an earlier server's may not answer for long.
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
               << " exists, though this server could not read it";
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
  sandbox->OnCreated(why);
  registry_.Remove(*sandbox);
  sandbox->FinishDeletion();
  environment_.activity->SandboxRemoved();
}

void Sandboxes::Remove(const std::shared_ptr<Sandbox>& sandbox,
                       absl::Duration retry) {
  absl::Status removed = sandbox->EndWithoutSupervisor();
  if (removed.ok()) {
    removed = StateDirectory::Remove(sandbox->spec().directory());
  }
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
  sandbox->FinishDeletion();
  environment_.activity->SandboxRemoved();
}

void Sandboxes::DeleteAll(wire::ExitRecord::Cause cause) {
  for (const auto& sandbox : registry_.List("", registry_.size())) {
    sandbox->Delete(cause, [](const absl::Status&) {});
  }
}

absl::Status Sandboxes::Recover() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   environment_.state->ListSandboxes());
  std::vector<std::pair<std::string, std::future<void>>> taken_over;
  taken_over.reserve(names.size());
  for (const std::string& name : names) {
    taken_over.emplace_back(name, RecoverOne(name, kFirstRetry));
  }
  // All were asked before the first is awaited.
  const auto deadline = std::chrono::steady_clock::now() + kSnapshotPatience;
  for (auto& [name, known] : taken_over) {
    if (known.valid() &&
        known.wait_until(deadline) != std::future_status::ready) {
      LOG(ERROR) << "the supervisor of " << name << " does not answer";
    }
  }
  return absl::OkStatus();
}

std::future<void> Sandboxes::RecoverOne(const std::string& name,
                                        absl::Duration retry) {
  if (!IsValidId(name)) {
    return RemoveLeftover(name);
  }
  if (registry_.Find(name) != nullptr) {
    return {};  // made anew meanwhile
  }
  absl::StatusOr<wire::SandboxSpec> spec = environment_.state->ReadSpec(name);
  const std::string path = environment_.state->SandboxPath(name);
  // Before a supervisor is asked the description is on the disk: what one has
  // made is never removed for the lack of it.
  if ((absl::IsNotFound(spec.status()) || absl::IsDataLoss(spec.status())) &&
      StateDirectory::IsUnborn(path)) {
    LOG(WARNING) << "removing a torn sandbox: " << spec.status().message();
    return RemoveLeftover(name);
  }
  if (!spec.ok()) {
    LOG(ERROR) << "sandbox " << name
               << " is left alone: " << spec.status().message();
    environment_.timers->RunAfter(retry, [this, name, retry] {
      environment_.lanes->launches.Run([this, name, retry] {
        RecoverOne(name, std::min(retry * 2, kLastRetry));
      });
    });
    return {};
  }
  spec->set_directory(path);
  const auto deletion = StateDirectory::ReadDeletion(path);
  if (!deletion.has_value() &&
      spec->boot_id() == environment_.state->boot_id() &&
      StateDirectory::IsUnborn(path)) {
    LOG(WARNING) << "removing a sandbox that was never made: " << name;
    return RemoveLeftover(name);
  }
  auto sandbox = std::make_shared<Sandbox>(*spec, SandboxEnvironment());
  if (!registry_.AddExisting(sandbox)) {
    LOG(ERROR) << "the ids of " << spec->name() << " are taken; it is ignored";
    return {};
  }
  std::future<void> known = TakeOver(sandbox);
  sandbox->BeginLifetime();
  if (deletion.has_value()) {
    sandbox->Delete(deletion->cause(), [](const absl::Status&) {});
  } else if (spec->ephemeral()) {
    sandbox->BeginViewing();
    sandbox->EndViewing();
  }
  return known;
}

std::future<void> Sandboxes::TakeOver(const std::shared_ptr<Sandbox>& sandbox) {
  environment_.activity->SandboxAdded();
  auto known = std::make_shared<std::promise<void>>();
  std::future<void> result = known->get_future();
  sandbox->AwaitReady([known](const absl::Status&) { known->set_value(); });
  const absl::Status loaded = Load(sandbox);
  const absl::Status adopted = loaded.ok() ? Adopt(sandbox) : loaded;
  if (!adopted.ok()) {
    LOG(ERROR) << sandbox->spec().name()
               << " is not taken over yet: " << adopted.message();
    AdoptLater(sandbox, loaded.ok());
  }
  return result;
}

absl::Status Sandboxes::Load(const std::shared_ptr<Sandbox>& sandbox) {
  // Before the output of what has ended may expire.
  absl::Status loaded =
      HasRebooted(sandbox->spec(), *environment_.state)
          ? StateDirectory::CutLogs(sandbox->spec().directory())
          : absl::OkStatus();
  loaded.Update(sandbox->LoadRecords());
  if (!loaded.ok() && sandbox->MayGiveUp(loaded)) {
    LOG(ERROR) << "some of " << sandbox->spec().name()
               << " is given up: " << loaded.message();
    return absl::OkStatus();
  }
  return loaded;
}

absl::Status Sandboxes::Adopt(const std::shared_ptr<Sandbox>& sandbox) {
  absl::StatusOr<std::unique_ptr<sandbox::SupervisorConnection>> adopted =
      environment_.factory->Adopt(sandbox->spec(), sandbox.get());
  if (!adopted.ok() && !absl::IsNotFound(adopted.status())) {
    // Such as too many open files here, or a full queue of connections there:
    // the supervisor may live.
    return adopted.status();
  }
  const std::string& path = sandbox->spec().directory();
  StateDirectory::RemoveLeftovers(path,
                                  /*all=*/absl::IsNotFound(adopted.status()));
  if (adopted.ok()) {
    sandbox->Attach(*std::move(adopted));
  } else {
    const wire::SandboxEnd unknown =
        HasRebooted(sandbox->spec(), *environment_.state)
            ? EndOf(wire::SandboxEnd::HOST_RESTARTED, "the host went down")
            : EndOf(wire::SandboxEnd::SUPERVISOR_DIED,
                    absl::StrCat("the supervisor died: ",
                                 adopted.status().message()));
    sandbox->Attach(nullptr);
    sandbox->OnGone(StateDirectory::ReadFailure(path).value_or(unknown));
  }
  return absl::OkStatus();
}

void Sandboxes::AdoptLater(const std::shared_ptr<Sandbox>& sandbox,
                           bool loaded) {
  environment_.timers->RunAfter(kAdoptionRetry, [this, sandbox, loaded] {
    environment_.lanes->launches.Run([this, sandbox, loaded] {
      const bool readable = loaded || Load(sandbox).ok();
      if (!readable || !Adopt(sandbox).ok()) {
        AdoptLater(sandbox, readable);
      }
    });
  });
}

std::future<void> Sandboxes::RemoveLeftover(const std::string& name) {
  const std::string path = environment_.state->SandboxPath(name);
  const absl::Status removed = StateDirectory::RemoveUnborn(path);
  if (removed.ok()) {
    return {};
  }
  // A supervisor of it listens, or something cannot be removed.
  wire::SandboxSpec spec;
  spec.set_directory(StateDirectory::RemovedPath(path));
  spec.set_id(name);
  spec.set_name(SandboxName(name).ToString());
  auto sandbox =
      std::make_shared<Sandbox>(std::move(spec), SandboxEnvironment());
  std::future<void> known = TakeOver(sandbox);
  // The registry does not hold it: it holds itself until nothing is left.
  sandbox->Delete(wire::ExitRecord::SANDBOX_DELETED,
                  [sandbox](const absl::Status&) {});
  return known;
}

}  // namespace server
