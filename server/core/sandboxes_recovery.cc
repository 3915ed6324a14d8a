// Takes over what an earlier server left: sandboxes that live, that died and
// that were never made.

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/names.h"
#include "server/core/directories.h"
#include "server/core/execution_records.h"
#include "server/core/placeholders.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"

namespace server {
namespace {

// The delay between attempts to connect to a supervisor.
constexpr absl::Duration kAdoptionRetry = absl::Milliseconds(200);

wire::SandboxEnd EndOf(wire::SandboxEnd::Cause cause,
                       absl::string_view message) {
  wire::SandboxEnd end;
  end.set_cause(cause);
  end.set_message(std::string(message));
  return end;
}

// Returns why the supervisor of this sandbox is dead.
wire::SandboxEnd WhyDead(const wire::SandboxSpec& spec,
                         const StateDirectory& state,
                         const absl::Status& not_found) {
  const wire::SandboxEnd unknown =
      spec.boot_id() != state.boot_id()
          ? EndOf(wire::SandboxEnd::HOST_RESTARTED, "the host went down")
          : EndOf(wire::SandboxEnd::SUPERVISOR_DIED,
                  absl::StrCat("the supervisor died: ", not_found.message()));
  return StateDirectory::ReadFailure(spec.directory()).value_or(unknown);
}

}  // namespace

absl::Status Sandboxes::Recover() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   environment_.state->ListSandboxes());
  using Found = std::promise<std::shared_ptr<Sandbox>>;
  std::vector<std::pair<std::string, std::future<std::shared_ptr<Sandbox>>>>
      found;
  for (const std::string& name : names) {
    if (!IsValidId(name)) {
      environment_.lanes->removals.Run([this, name] { RemoveLeftover(name); });
      continue;
    }
    // Reserved before any request is served, so that none makes the sandbox a
    // second time.
    registry_.Reserve(name);
    auto promise = std::make_shared<Found>();
    found.emplace_back(name, promise->get_future());
    environment_.lanes->descriptions.Run([this, name, promise] {
      promise->set_value(RecoverOne(name, kFirstRetry));
    });
  }
  std::vector<std::pair<std::string, std::future<void>>> known;
  const auto begin = std::chrono::steady_clock::now();
  for (auto& [name, future] : found) {
    if (future.wait_until(begin + kDescriptionPatience) !=
        std::future_status::ready) {
      LOG(WARNING) << "sandbox " << name << ": its directory is not read yet; "
                   << "the server serves without it";
    } else if (const std::shared_ptr<Sandbox> sandbox = future.get();
               sandbox != nullptr) {
      auto promise = std::make_shared<std::promise<void>>();
      known.emplace_back(name, promise->get_future());
      sandbox->AwaitReady(
          [promise](const absl::Status&) { promise->set_value(); });
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + kRecoveryPatience;
  for (auto& [name, future] : known) {
    if (future.wait_until(deadline) != std::future_status::ready) {
      LOG(WARNING) << "sandbox " << name << ": its records or its supervisor "
                   << "are not known yet; the server serves without it";
    }
  }
  return absl::OkStatus();
}

std::shared_ptr<Sandbox> Sandboxes::RecoverOne(const std::string& name,
                                               absl::Duration retry) {
  absl::StatusOr<wire::SandboxSpec> spec = environment_.state->ReadSpec(name);
  const std::string path = environment_.state->SandboxPath(name);
  // Nobody got a sandbox before its description was written. Without one, it
  // was made at most by a machine that has gone down since.
  if ((absl::IsNotFound(spec.status()) || absl::IsDataLoss(spec.status())) &&
      StateDirectory::IsUnused(path)) {
    LOG(WARNING) << "removing a torn sandbox: " << spec.status().message();
    RemoveUnmade(name);
    return nullptr;
  }
  if (!spec.ok()) {
    LOG(ERROR) << "sandbox " << name
               << " is left alone: " << spec.status().message();
    environment_.timers->RunAfter(retry, [this, name, retry] {
      environment_.lanes->descriptions.Run([this, name, retry] {
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
    RemovePlaceholders(*spec);
    RemoveUnmade(name);
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

void Sandboxes::RemoveUnmade(const std::string& name) {
  RemoveLeftover(name);
  registry_.Free(name);
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
    // For example too many open files here, or a full queue of connections
    // there. The supervisor may live.
    LOG(ERROR) << spec.name()
               << " is not taken over yet: " << adopted.status().message();
    environment_.timers->RunAfter(kAdoptionRetry, [this, sandbox] {
      environment_.lanes->launches.Run([this, sandbox] { Adopt(sandbox); });
    });
    return;
  }
  environment_.lanes->removals.Run([path = spec.directory(), dead] {
    RemoveLeftoverExecutions(path, /*never_begun=*/dead);
  });
  if (dead) {
    sandbox->Attach(nullptr);
    sandbox->OnGone(WhyDead(spec, *environment_.state, adopted.status()));
  } else {
    sandbox->Attach(*std::move(adopted));
  }
  // The earlier server may have been killed before it could.
  SyncSoon(sandbox);
}

void Sandboxes::RemoveLeftover(const std::string& name) {
  const std::string path = environment_.state->SandboxPath(name);
  if (StateDirectory::RemoveUnborn(path).ok()) {
    return;
  }
  // A supervisor listens there, or something cannot be removed.
  wire::SandboxSpec spec;
  spec.set_directory(RemovedPath(path));
  spec.set_name(SandboxName(name).ToString());
  const std::shared_ptr<Sandbox> sandbox = Sandbox::Create(
      std::move(spec), SandboxEnvironment(), Sandbox::Origin::kEarlierServer);
  TakeOver(sandbox);
  // The registry does not own it. The callback does, until nothing is left.
  sandbox->Delete(wire::ExitRecord::SANDBOX_DELETED,
                  [sandbox](const absl::Status&) {});
}

}  // namespace server
