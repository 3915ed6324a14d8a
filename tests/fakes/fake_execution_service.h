// The ExecutionService of the fake server.

#ifndef TESTS_FAKES_FAKE_EXECUTION_SERVICE_H_
#define TESTS_FAKES_FAKE_EXECUTION_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "tests/fakes/fake_server.h"

namespace tests {

class FakeServer::Executions : public corral::v1::ExecutionService::Service {
 public:
  explicit Executions(FakeServer& fake) : fake_(fake) {}

  grpc::Status StartExecution(grpc::ServerContext*,
                              const corral::v1::StartExecutionRequest* request,
                              corral::v1::Execution* response) override;
  grpc::Status RunExecution(
      grpc::ServerContext*, const corral::v1::RunExecutionRequest* request,
      grpc::ServerWriter<corral::v1::OutputEvent>* writer) override;
  grpc::Status GetExecution(grpc::ServerContext*,
                            const corral::v1::GetExecutionRequest* request,
                            corral::v1::Execution* response) override;
  grpc::Status ListExecutions(
      grpc::ServerContext*, const corral::v1::ListExecutionsRequest* request,
      corral::v1::ListExecutionsResponse* response) override;
  grpc::Status WaitExecution(grpc::ServerContext*,
                             const corral::v1::WaitExecutionRequest* request,
                             corral::v1::Execution* response) override;
  grpc::Status ReadOutput(grpc::ServerContext*,
                          const corral::v1::ReadOutputRequest* request,
                          corral::v1::ReadOutputResponse* response) override;
  grpc::Status StreamOutput(
      grpc::ServerContext*, const corral::v1::StreamOutputRequest* request,
      grpc::ServerWriter<corral::v1::OutputEvent>* writer) override;
  grpc::Status AcknowledgeOutput(
      grpc::ServerContext*, const corral::v1::AcknowledgeOutputRequest* request,
      google::protobuf::Empty*) override;
  grpc::Status WriteInput(grpc::ServerContext*,
                          const corral::v1::WriteInputRequest* request,
                          corral::v1::InputState* response) override;
  grpc::Status SignalExecution(
      grpc::ServerContext*, const corral::v1::SignalExecutionRequest* request,
      google::protobuf::Empty*) override;
  grpc::Status ResizeTerminal(grpc::ServerContext*,
                              const corral::v1::ResizeTerminalRequest* request,
                              google::protobuf::Empty*) override;
  grpc::Status DeleteExecution(
      grpc::ServerContext*, const corral::v1::DeleteExecutionRequest* request,
      google::protobuf::Empty*) override;

 private:
  // Calls `function` with the execution, or answers EXECUTION_NOT_FOUND.
  template <typename Function>
  grpc::Status With(const std::string& name, Function function);
  // The same, after it has checked the request for this execution.
  template <typename Request, typename Function>
  grpc::Status WithChecked(const Request& request, Function function);

  absl::StatusOr<std::shared_ptr<FakeExecution>> Start(
      const corral::v1::StartExecutionRequest& request);
  absl::StatusOr<std::shared_ptr<FakeExecution>> Run(
      const corral::v1::RunExecutionRequest& request);

  FakeServer& fake_;
};

}  // namespace tests

#endif  // TESTS_FAKES_FAKE_EXECUTION_SERVICE_H_
