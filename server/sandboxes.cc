#include "server/sandboxes.h"

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/sandbox.h"
#include "server/conversion.h"
#include "server/errors.h"
#include "server/names.h"
#include "server/registry.h"
#include "server/session.h"
#include "server/state_directory.h"

namespace server {
namespace {

// A supervisor that does not answer must not keep the server from starting.
constexpr std::chrono::seconds kSnapshotPatience(10);

absl::Status ToCreationError(const wire::SandboxSpec& spec,
                             const absl::Status& status) {
  if (absl::IsInvalidArgument(status)) {
    return InvalidField("sandbox.workspace.path", spec.workspace(),
                        status.message());
  }
  if (absl::IsFailedPrecondition(status)) {
    return Error(absl::StatusCode::kFailedPrecondition,
                 corral::v1::ISOLATION_UNAVAILABLE, status.message());
  }
  return ServerFault("creation of a sandbox", status);
}

}  // namespace

Sandboxes::Sandboxes(const Environment& environment, const Options& options)
    : environment_(environment),
      options_(options),
      registry_(options.max_sandboxes) {}

Session::Environment Sandboxes::SessionEnvironment() {
  Session::Environment environment;
  environment.activity = environment_.activity;
  environment.timers = environment_.timers;
  environment.workers = environment_.removers;
  environment.state = environment_.state;
  environment.max_executions = options_.max_executions_per_sandbox;
  environment.on_emptied = [this](std::shared_ptr<Session> session) {
    environment_.removers->Run(
        [this, session = std::move(session)] { Remove(session); });
  };
  return environment;
}

void Sandboxes::Create(const corral::v1::Sandbox& wanted, const std::string& id,
                       bool ephemeral, Created created) {
  // Shared: the session needs it before it is known whether there is a session.
  auto answer = std::make_shared<Created>(
      [created = std::move(created),
       admission = environment_.activity->BeginStart()](
          absl::StatusOr<std::shared_ptr<Session>> session) mutable {
        created(std::move(session));
      });
  const absl::StatusOr<std::shared_ptr<Session>> session =
      registry_.Add(id, [&](const std::string& chosen_id) {
        wire::SandboxSpec spec =
            ToSpec(wanted, options_.default_limits, options_.default_lifetime);
        spec.set_directory(environment_.state->SandboxPath(chosen_id));
        spec.set_id(chosen_id);
        spec.set_name(FormatSandboxName(chosen_id));
        spec.set_create_time_ns(absl::ToUnixNanos(absl::Now()));
        spec.set_ephemeral(ephemeral);
        return std::make_shared<Session>(
            spec, SessionEnvironment(),
            [this, chosen_id, spec, answer](const absl::Status& status) {
              auto session = registry_.Find(chosen_id);
              if (!status.ok()) {
                (*answer)(ToCreationError(spec, status));
              } else if (session == nullptr) {
                (*answer)(SandboxNotFound(spec.name()));
              } else {
                (*answer)(std::move(session));
              }
            });
      });
  if (!session.ok()) {
    (*answer)(session.status());
    return;
  }
  environment_.activity->SandboxAdded();
  environment_.creators->Run([this, session = *session] { Make(session); });
}

void Sandboxes::Make(const std::shared_ptr<Session>& session) {
  const absl::Status written = environment_.state->WriteSpec(session->spec());
  if (!written.ok()) {
    session->OnCreated(absl::InternalError(written.message()));
    session->Attach(nullptr);
    session->OnGone(written);
    return;
  }
  session->Attach(environment_.factory->Create(
      session->spec(), session.get(),
      [session](const absl::Status& status) { session->OnCreated(status); }));
}

void Sandboxes::Remove(const std::shared_ptr<Session>& session) {
  session->EndWithoutSupervisor();
  const absl::Status removed =
      StateDirectory::Remove(session->spec().directory());
  if (!removed.ok()) {
    LOG(ERROR) << "removal of " << session->spec().name() << ": "
               << removed.message();
  }
  registry_.Remove(*session);
  session->FinishDeletion();
  environment_.activity->SandboxRemoved();
}

void Sandboxes::DeleteAll(wire::ExitRecord::Cause cause) {
  for (const auto& session : registry_.List("", registry_.size())) {
    session->Delete(cause, [](const absl::Status&) {});
  }
}

void Sandboxes::Recover() {
  for (const std::string& id : environment_.state->ListSandboxes()) {
    RecoverOne(id);
  }
}

void Sandboxes::RecoverOne(const std::string& id) {
  const absl::StatusOr<wire::SandboxSpec> spec =
      environment_.state->ReadSpec(id);
  if (!spec.ok()) {
    // A creation that was never answered.
    LOG(WARNING) << "removing a torn sandbox: " << spec.status().message();
    StateDirectory::Remove(environment_.state->SandboxPath(id)).IgnoreError();
    return;
  }
  auto known = std::make_shared<std::promise<void>>();
  auto session = std::make_shared<Session>(
      *spec, SessionEnvironment(),
      [known](const absl::Status&) { known->set_value(); });
  if (!registry_.AddExisting(session)) {
    LOG(ERROR) << "the ids of " << spec->name() << " are taken; it is ignored";
    return;
  }
  environment_.activity->SandboxAdded();
  session->LoadRecords();
  absl::StatusOr<std::unique_ptr<sandbox::Sandbox>> adopted =
      environment_.factory->Adopt(*spec, session.get());
  if (adopted.ok()) {
    session->Attach(*std::move(adopted));
  } else {
    session->Attach(nullptr);
    session->OnGone(adopted.status());
  }
  if (known->get_future().wait_for(kSnapshotPatience) !=
      std::future_status::ready) {
    LOG(ERROR) << "the supervisor of " << spec->name() << " does not answer";
  }
  if (spec->ephemeral()) {
    session->BeginViewing();
    session->EndViewing(/*saw_the_end=*/false);
  }
}

}  // namespace server
