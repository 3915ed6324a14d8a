#include "tests/fakes/fake_supervisor_launcher.h"

#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/client/supervisor_connection.h"
#include "tests/fakes/fake_supervisor.h"

namespace tests {

namespace wire = sandbox::wire;

namespace {

absl::Status Gone() {
  return sandbox::MakeFailure(wire::Reply::SUPERVISOR_GONE, "gone");
}

}  // namespace

// The server's end of the line to one supervisor.
class FakeSupervisorLauncher::Connection
    : public sandbox::SupervisorConnection {
 public:
  Connection(FakeSupervisorLauncher* factory,
             std::shared_ptr<FakeSupervisor> supervisor)
      : factory_(factory), supervisor_(std::move(supervisor)) {}

  ~Connection() override {
    factory_->RunOnLoop([this] { supervisor_->Connect(nullptr); });
  }

  void Start(wire::StartExecution start, Done done) override {
    Ask(std::move(done),
        [start = std::move(start)](FakeSupervisor& supervisor) {
          return supervisor.Start(start);
        });
  }
  void Signal(wire::Signal signal, Done done) override {
    Ask(std::move(done), [signal](FakeSupervisor& supervisor) {
      return supervisor.Signal(signal);
    });
  }
  void Resize(wire::Resize resize, Done done) override {
    Ask(std::move(done), [resize](FakeSupervisor& supervisor) {
      return supervisor.Resize(resize);
    });
  }
  void WriteInput(wire::WriteInput input, InputDone done) override {
    factory_->loop_->Post(
        [supervisor = supervisor_, input, done = std::move(done)]() mutable {
          if (supervisor->connected()) {
            supervisor->WriteInput(input, std::move(done));
          } else {
            done(Gone(), wire::InputState());
          }
        });
  }
  void Acknowledge(wire::Acknowledge acknowledge) override {
    factory_->loop_->Post([supervisor = supervisor_, acknowledge] {
      if (supervisor->connected()) {
        supervisor->Acknowledge(acknowledge);
      }
    });
  }
  void AllowHosts(wire::EgressRules rules, Done done) override {
    Ask(std::move(done),
        [rules = std::move(rules)](FakeSupervisor& supervisor) {
          return supervisor.AllowHosts(rules);
        });
  }
  void MakeSockets(SocketsDone done) override {
    factory_->loop_->Post(
        [supervisor = supervisor_, done = std::move(done)]() mutable {
          if (supervisor->connected()) {
            supervisor->MakeSockets(std::move(done));
          } else {
            done(Gone());
          }
        });
  }
  void DeleteExecution(const std::string& execution_id, Done done) override {
    Ask(std::move(done), [execution_id](FakeSupervisor& supervisor) {
      return supervisor.DeleteExecution(execution_id);
    });
  }
  void DeleteSandbox(wire::ExitRecord::Cause cause, Done done) override {
    factory_->loop_->Post(
        [supervisor = supervisor_, cause, done = std::move(done)]() mutable {
          if (!supervisor->connected()) {
            done(Gone());
            return;
          }
          if (supervisor->ignores_deletions()) {
            supervisor->IgnoreDeletion(std::move(done));
            return;
          }
          supervisor->DeleteSandbox(cause);
          done(absl::OkStatus());
          supervisor->Die(wire::SandboxEnd::DELETED, "");
        });
  }

 private:
  void Ask(Done done, std::function<absl::Status(FakeSupervisor&)> request) {
    factory_->loop_->Post([supervisor = supervisor_,
                           request = std::move(request),
                           done = std::move(done)]() mutable {
      done(supervisor->connected() ? request(*supervisor) : Gone());
    });
  }

  FakeSupervisorLauncher* const factory_;
  const std::shared_ptr<FakeSupervisor> supervisor_;
};

FakeSupervisorLauncher::FakeSupervisorLauncher()
    : loop_(sandbox::EventLoop::Create().value()),
      thread_([this] { loop_->Run(); }) {}

FakeSupervisorLauncher::~FakeSupervisorLauncher() {
  loop_->Stop();
  thread_.join();
}

void FakeSupervisorLauncher::RunOnLoop(const std::function<void()>& function) {
  if (std::this_thread::get_id() == thread_.get_id()) {
    function();
    return;
  }
  std::promise<void> done;
  loop_->Post([&] {
    function();
    done.set_value();
  });
  done.get_future().wait();
}

std::unique_ptr<sandbox::SupervisorConnection> FakeSupervisorLauncher::Create(
    const wire::SandboxSpec& spec, sandbox::SupervisorObserver* observer,
    Created created) {
  auto supervisor = std::make_shared<FakeSupervisor>(spec);
  loop_->Post(
      [this, supervisor, observer, created = std::move(created)]() mutable {
        if (!creation_error_.ok()) {
          created(creation_error_);
          wire::SandboxEnd end;
          end.set_cause(wire::SandboxEnd::SUPERVISOR_DIED);
          end.set_message(std::string(creation_error_.message()));
          observer->OnGone(end);
          return;
        }
        supervisors_[supervisor->spec().directory()] = supervisor;
        // The sign that it has been ready.
        const std::ofstream sign(
            absl::StrCat(supervisor->spec().directory(), "/control.sock"));
        supervisor->Connect(observer);
        observer->OnMade(FakeSupervisor::Trace());
        created(absl::OkStatus());
      });
  return std::make_unique<Connection>(this, supervisor);
}

absl::StatusOr<std::unique_ptr<sandbox::SupervisorConnection>>
FakeSupervisorLauncher::Adopt(const wire::SandboxSpec& spec,
                              sandbox::SupervisorObserver* observer) {
  std::shared_ptr<FakeSupervisor> supervisor;
  absl::Status error;
  RunOnLoop([&] {
    error = adoption_error_;
    if (!error.ok()) {
      return;
    }
    const auto found = supervisors_.find(spec.directory());
    if (found != supervisors_.end() && found->second->alive()) {
      supervisor = found->second;
      on_adoption_(*supervisor);
      supervisor->Connect(observer);
      loop_->Post([supervisor, observer] {
        observer->OnSnapshot(supervisor->Snapshot());
      });
    }
  });
  if (!error.ok()) {
    return error;
  }
  if (supervisor == nullptr) {
    return absl::NotFoundError(spec.directory());
  }
  return std::make_unique<Connection>(this, supervisor);
}

void FakeSupervisorLauncher::FailCreations(const absl::Status& status) {
  RunOnLoop([&] { creation_error_ = status; });
}

void FakeSupervisorLauncher::FailAdoptions(const absl::Status& status) {
  RunOnLoop([&] { adoption_error_ = status; });
}

void FakeSupervisorLauncher::OnAdoption(
    std::function<void(FakeSupervisor&)> function) {
  RunOnLoop([&] { on_adoption_ = std::move(function); });
}

void FakeSupervisorLauncher::With(
    const std::string& sandbox,
    const std::function<void(FakeSupervisor&)>& function) {
  RunOnLoop([&] {
    for (const auto& [directory, supervisor] : supervisors_) {
      if (supervisor->spec().id() == sandbox) {
        function(*supervisor);
        return;
      }
    }
    LOG(FATAL) << "no sandbox " << sandbox;
  });
}

void FakeSupervisorLauncher::Write(const std::string& execution_name,
                                   wire::Stream stream,
                                   const std::string& bytes) {
  const std::vector<std::string> parts = absl::StrSplit(execution_name, '/');
  With(parts.at(3), [&](FakeSupervisor& supervisor) {
    supervisor.Write(parts.at(5), stream, bytes);
  });
}

void FakeSupervisorLauncher::Exit(const std::string& execution_name, int code) {
  const std::vector<std::string> parts = absl::StrSplit(execution_name, '/');
  With(parts.at(3), [&](FakeSupervisor& supervisor) {
    supervisor.End(parts.at(5), code << 8, wire::ExitRecord::NORMAL);
  });
}

}  // namespace tests
