// A corrald for tests of its clients: the services of corral.v1 on a temporary
// Unix socket, with commands that the test scripts. It checks requests with the
// rules of the real server (request_rules.h) and answers them as the .proto
// files say.
//
//   FakeServer server([](FakeExecution& command) {
//     command.Print("hello\n");
//     command.SetExit(3);
//   });
//   client::Connection::Open({server.address()});
//
// A repeated request returns what the first one created; a different request
// with its id is refused. Sandboxes that RunExecution creates stay until they
// are deleted. Sandboxes are named s1, s2, ... and the executions of each e1,
// e2, ...

#ifndef TESTS_FAKES_FAKE_SERVER_H_
#define TESTS_FAKES_FAKE_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "corral/v1/screen_service.pb.h"
#include "grpcpp/server.h"
#include "sandbox/base/mutex.h"
#include "tests/fakes/fake_execution.h"

namespace tests {

class FakeServer {
 public:
  // `script` runs for every command.
  explicit FakeServer(FakeExecution::Script script);
  ~FakeServer();

  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  // "unix:PATH".
  const std::string& address() const { return address_; }

  // Disconnects all clients and stops listening, like a corrald that is killed;
  // the commands go on. Start() listens again.
  void Stop();
  void Start();

  // From now on, commands fail to start with this failure.
  void FailStarts(const corral::v1::StartFailure& failure);

  // From now on, StartExecution and RunExecution start the command but fail
  // with `code`.
  void FailStartedCommands(grpc::StatusCode code);
  // From now on, SignalExecution sends nothing and fails with `code`.
  void FailSignals(grpc::StatusCode code);

  // From now on, RunExecution calls get no answer.
  void HoldRuns();
  // Waits until there was such a call.
  void WaitForRun();

  // Wait until there were `count` calls of StreamOutput, WaitExecution,
  // AcknowledgeOutput or SignalExecution.
  void WaitForStreams(size_t count);
  void WaitForWaits(size_t count);
  void WaitForAcknowledgements(size_t count);
  void WaitForSignals(size_t count);

  // The next calls that create something or delete a sandbox take effect, but
  // their answers are lost with the connection (UNAVAILABLE).
  void LoseAnswers(int count);

  // The next `count` calls: StreamOutput ends at once, or sends nothing after
  // `opened`, WaitExecution answers as if its timeout had passed, GetSandbox
  // or DeleteSandbox does not answer.
  void EndStreams(int count) { Set(&State::ended_streams, count); }
  void StallStreams(int count) { Set(&State::stalled_streams, count); }
  void ExpireWaits(int count) { Set(&State::expired_waits, count); }
  void StallGets(int count) { Set(&State::stalled_gets, count); }
  void StallDeletions(int count) { Set(&State::stalled_deletions, count); }

  // The next WriteInput calls are refused: UNAVAILABLE/SANDBOX_NOT_READY with
  // a RetryInfo of 200 ms.
  void RefuseInputs(int count) { Set(&State::refused_inputs, count); }

  // The next StartExecution calls are refused: TOO_MANY_EXECUTIONS.
  void RefuseStarts(int count) { Set(&State::refused_starts, count); }

  // The next GetScreen calls are refused, as for a terminal that is too large:
  // FAILED_PRECONDITION/SCREEN_UNAVAILABLE.
  void RefuseScreens(int count) { Set(&State::refused_screens, count); }

  // Removes a sandbox as if its lifetime was over.
  void LoseSandbox(const std::string& name);

  // ListNetworkEvents reports that a program in `sandbox`, a full name which
  // need not exist, looked up `host` and was refused.
  void RefuseHost(const std::string& sandbox, const std::string& host);

  // Removes an execution and its output.
  void LoseExecution(const std::string& name);

  // GetScreen answers with this for every terminal; with the answers for the
  // program only if it is asked for them.
  void SetScreen(const corral::v1::GetScreenResponse& screen);
  // ListTerminalTimes answers with these, `page` at a time.
  void SetTimes(const std::vector<corral::v1::TerminalTime>& times, int page);

  // Lists have pages of this size; 0: one page.
  void SetPageSize(int size) { Set(&State::page_size, size); }
  // Lists of executions name these sandboxes as unreachable.
  void SetUnreachable(const std::vector<std::string>& names);
  // Lists of sandboxes do.
  void SetUnreachableSandboxes(const std::vector<std::string>& names);

  // The requests of clients, oldest first.
  std::vector<corral::v1::RunExecutionRequest> runs();
  std::vector<corral::v1::StartExecutionRequest> starts();
  std::vector<corral::v1::CreateSandboxRequest> creations();
  std::vector<corral::v1::SignalExecutionRequest> signals();
  std::vector<std::string> gets();  // of sandboxes, by name
  std::vector<std::string> deletions();
  std::vector<corral::v1::AllowHostsRequest> allowances();
  int network_lists();  // the number of ListNetworkEvents calls
  std::vector<corral::v1::GetScreenRequest> screens();
  std::vector<std::string> clearings();  // of screens, by name
  std::vector<corral::v1::StreamOutputRequest> streams();
  std::vector<corral::v1::WaitExecutionRequest> waits();
  std::vector<corral::v1::AcknowledgeOutputRequest> acknowledgements();
  std::vector<corral::v1::WriteInputRequest> inputs();

  // Finds an execution by its full name; null if there is none.
  std::shared_ptr<FakeExecution> FindExecution(const std::string& name);

 private:
  class Sandboxes;
  class Executions;
  class Screens;
  class Admin;
  friend class Sandboxes;
  friend class Executions;
  friend class Screens;
  friend class Admin;

  using Identity = corral::supervisor::v1::RequestIdentity;
  struct Made {
    std::string name;
    Identity identity;
  };

  struct State {
    std::optional<corral::v1::StartFailure> failure;
    grpc::StatusCode start_code = grpc::StatusCode::OK;
    grpc::StatusCode signal_code = grpc::StatusCode::OK;
    std::map<std::string, corral::v1::Sandbox> sandboxes;
    std::map<std::string, std::shared_ptr<FakeExecution>> executions;
    int next_id = 1;
    bool hold_runs = false;
    int lost_answers = 0;
    // The resources created under request ids, by "PARENT REQUEST_ID".
    std::map<std::string, Made> requests;
    // The requests that made sandboxes, by the sandbox's name.
    std::map<std::string, Identity> named;
    bool stopping = false;
    std::vector<corral::v1::RunExecutionRequest> runs;
    std::vector<corral::v1::StartExecutionRequest> starts;
    std::vector<corral::v1::CreateSandboxRequest> creations;
    std::vector<corral::v1::SignalExecutionRequest> signals;
    std::vector<std::string> gets;
    std::vector<std::string> deletions;
    std::vector<corral::v1::AllowHostsRequest> allowances;
    int network_lists = 0;
    // The events by the sandbox's name, oldest first.
    std::map<std::string, std::vector<corral::v1::NetworkEvent>> network_events;
    std::vector<corral::v1::GetScreenRequest> screens;
    std::vector<std::string> clearings;
    std::vector<corral::v1::StreamOutputRequest> streams;
    std::vector<corral::v1::WaitExecutionRequest> waits;
    std::vector<corral::v1::AcknowledgeOutputRequest> acknowledgements;
    std::vector<corral::v1::WriteInputRequest> inputs;
    corral::v1::GetScreenResponse screen;
    std::vector<corral::v1::TerminalTime> times;
    int times_page = 0;
    int ended_streams = 0;
    int stalled_streams = 0;
    int expired_waits = 0;
    int stalled_gets = 0;
    int stalled_deletions = 0;
    int refused_inputs = 0;
    int refused_starts = 0;
    int refused_screens = 0;
    int page_size = 0;
    std::vector<std::string> unreachable;
    std::vector<std::string> unreachable_sandboxes;
  };

  absl::StatusOr<corral::v1::Sandbox> Create(
      const corral::v1::CreateSandboxRequest& request,
      const Identity& identity);
  void ListNetworkEvents(const corral::v1::ListNetworkEventsRequest& request,
                         corral::v1::ListNetworkEventsResponse& response);
  absl::StatusOr<std::shared_ptr<FakeExecution>> Start(
      const std::string& parent, const std::string& id,
      const Identity& identity, const corral::v1::Command& command);
  // Finds what an equal request created. Absent: nothing that still exists.
  // Fails with REQUEST_MISMATCH if a different request has this id.
  template <typename Resources>
  absl::StatusOr<std::optional<typename Resources::mapped_type>> FindMade(
      const std::string& key, const Identity& identity,
      const Resources& resources) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fails with SANDBOX_NOT_FOUND.
  absl::StatusOr<corral::v1::Sandbox> FindSandbox(const std::string& sandbox)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The code of FailStartedCommands().
  grpc::Status StatusOfStart() ABSL_LOCKS_EXCLUDED(mutex_);
  bool LosesAnswer() { return Take(&State::lost_answers); }
  void Set(int State::*counter, int count) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes one off the counter. Returns false if it was 0.
  bool Take(int State::*counter) ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until the server stops.
  void Stall() ABSL_LOCKS_EXCLUDED(mutex_);
  bool DeleteSandbox(const std::string& name);
  void InterruptAll(bool interrupted);

  const FakeExecution::Script script_;
  std::string directory_;
  std::string address_;
  sandbox::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Sandboxes> sandbox_service_;
  std::unique_ptr<Executions> execution_service_;
  std::unique_ptr<Screens> screen_service_;
  std::unique_ptr<Admin> admin_service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace tests

#endif  // TESTS_FAKES_FAKE_SERVER_H_
