// For tests of recovery: a test can make files and the supervisor of the
// sandbox "box" unusable.

#ifndef SERVER_RPC_RECOVERY_FIXTURE_H_
#define SERVER_RPC_RECOVERY_FIXTURE_H_

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/core/sandbox.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {

class RecoveryFixture : public ServerFixture {
 protected:
  corral::v1::Sandbox GetBox(const std::string& id) {
    corral::v1::GetSandboxRequest request;
    request.set_name(absl::StrCat("tenants/default/sandboxes/", id));
    corral::v1::Sandbox response;
    Call(sandbox_stub_.get(), &SandboxStub::GetSandbox, request, &response);
    return response;
  }

  // Returns a path in the directory of "box".
  std::string Box(const std::string& name) const {
    return absl::StrCat(path_, "/sandboxes/box", name.empty() ? "" : "/", name);
  }

  // Starts a command with a terminal in a new sandbox "box".
  std::string StartOnTerminal() {
    corral::v1::Command command = Command();
    command.mutable_terminal()->set_rows(24);
    command.mutable_terminal()->set_columns(80);
    return StartExecution(CreateSandbox("box"), command);
  }

  template <typename Request, typename Response>
  std::function<grpc::Status()> Later(
      grpc::Status (ExecutionStub::*method)(grpc::ClientContext*,
                                            const Request&, Response*),
      const Request& request) {
    return [this, method, request] {
      Response response;
      return Call(execution_stub_.get(), method, request, &response);
    };
  }

  // Returns all calls that need the supervisor. The last one deletes the
  // execution.
  std::vector<std::function<grpc::Status()>> CallsOfTheSupervisor(
      const std::string& name) {
    corral::v1::WriteInputRequest input;
    input.set_name(name);
    input.set_data("x");
    input.set_offset(0);
    corral::v1::SignalExecutionRequest signal;
    signal.set_name(name);
    signal.set_signal(SIGTERM);
    corral::v1::ResizeTerminalRequest resize;
    resize.set_name(name);
    resize.mutable_size()->set_rows(1);
    resize.mutable_size()->set_columns(1);
    corral::v1::AcknowledgeOutputRequest acknowledge;
    acknowledge.set_name(name);
    acknowledge.add_cursors()->set_stream(corral::v1::TERMINAL);
    corral::v1::StartExecutionRequest start;
    start.set_parent("tenants/default/sandboxes/box");
    *start.mutable_command() = Command();
    corral::v1::DeleteExecutionRequest deletion;
    deletion.set_name(name);
    return {Later(&ExecutionStub::WriteInput, input),
            Later(&ExecutionStub::SignalExecution, signal),
            Later(&ExecutionStub::ResizeTerminal, resize),
            Later(&ExecutionStub::AcknowledgeOutput, acknowledge),
            Later(&ExecutionStub::StartExecution, start),
            Later(&ExecutionStub::DeleteExecution, deletion)};
  }

  // Makes `name` in the directory of "box" unreadable until Restore().
  void Obstruct(const std::string& name) {
    std::filesystem::rename(Box(name), Box("aside"));
    if (std::filesystem::is_directory(Box("aside"))) {
      std::ofstream(Box(name)) << "x";
    } else {
      // Also as the directory of an earlier supervisor.
      std::filesystem::create_directories(Box(name) + "/start.pb");
    }
  }
  void Restore(const std::string& name) {
    std::filesystem::remove_all(Box(name));
    std::filesystem::rename(Box("aside"), Box(name));
  }

  // Blocks until "box" and its executions are known.
  void AwaitBox() {
    std::promise<void> known;
    sandboxes_->registry().Find("box")->AwaitReady(
        [&](const absl::Status&) { known.set_value(); });
    known.get_future().wait();
  }

  // Kills the supervisor of "box" after its command exited with 7. Only the
  // disk knows of the exit, and the disk cannot be read until Restore().
  void KillSupervisorUnnoticed(const std::string& name) {
    factory_.With("box", [&](tests::FakeSupervisor& supervisor) {
      supervisor.Connect(nullptr);
      supervisor.End(name.substr(name.rfind('/') + 1), 7 << 8,
                     sandbox::wire::ExitRecord::NORMAL);
      Obstruct("executions");
      supervisor.Connect(sandboxes_->registry().Find("box").get());
      supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
    });
  }

  // Kills the supervisor of "box" while no server is connected to it.
  void KillSupervisor() {
    factory_.With("box", [](tests::FakeSupervisor& supervisor) {
      supervisor.Connect(nullptr);
      supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
    });
  }
};

}  // namespace server

#endif  // SERVER_RPC_RECOVERY_FIXTURE_H_
