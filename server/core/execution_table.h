// The executions of one sandbox, by id and by the request that made them.
// Admits starts, and answers every caller of a start exactly once, whatever
// becomes of it.
//
// Thread-safe; nothing here blocks. Callbacks are called without a lock held.

#ifndef SERVER_CORE_EXECUTION_TABLE_H_
#define SERVER_CORE_EXECUTION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/mutex.h"
#include "server/core/execution.h"
#include "server/core/pending_calls.h"
#include "server/core/request_table.h"
#include "server/core/running_command.h"

namespace server {

class ExecutionTable {
 public:
  using ExecutionPtr = std::shared_ptr<Execution>;
  using Started = absl::AnyInvocable<void(absl::StatusOr<ExecutionPtr>)>;

  // An execution. `running` counts it as running until it ends.
  struct Entry {
    ExecutionPtr execution;
    std::unique_ptr<RunningCommand> running;
  };
  // Makes the entry of a new execution, or refuses it. Must be quick, and must
  // not use the table.
  using Make = absl::FunctionRef<absl::StatusOr<Entry>()>;

  // `sandbox` is the name of the sandbox. At most `max_running` of its
  // executions run at a time.
  ExecutionTable(std::string sandbox, uint32_t max_running)
      : sandbox_(std::move(sandbox)), max_running_(max_running) {}

  // Finds the execution that the same request made, or inserts a new one that
  // `make` makes. Returns the new execution, which the caller must start and
  // then report with AnswerStart or FailStart; null if there is none.
  //
  // `started` gets the execution as soon as it runs or has failed to start, or
  // else EXECUTION_EXISTS, REQUEST_MISMATCH, TOO_MANY_EXECUTIONS or the error
  // of `make`.
  ExecutionPtr Admit(const std::string& id,
                     const corral::supervisor::v1::RequestIdentity& request,
                     Make make, Started started);

  // Inserts an execution of an earlier server. Returns false if the id is
  // taken.
  bool Insert(Entry entry);

  // Passes the execution, which runs or failed to start, to its callers.
  void AnswerStart(const std::string& id);

  // Removes an execution that was never started, and passes `error` to its
  // callers. Returns the removed execution, or null.
  ExecutionPtr FailStart(const std::string& id, const absl::Status& error);

  // Stops counting the execution, which has ended, as running.
  void EndRunning(const std::string& id);

  // Removes the execution and returns it, or null. Callers that still wait for
  // its start get it.
  ExecutionPtr Erase(const std::string& id);

  // Returns null if there is none.
  ExecutionPtr Find(const std::string& id) const;

  // At most `limit` executions with ids after `after`, in their order.
  std::vector<ExecutionPtr> List(const std::string& after, size_t limit) const;

  // The executions that have not ended, by id.
  std::map<std::string, ExecutionPtr> Unended() const;

  size_t size() const;
  size_t running() const;

 private:
  // Everything that the table held for one id.
  struct Forgotten {
    ExecutionPtr execution;
    std::vector<Started> callers;
    std::unique_ptr<RunningCommand> running;
  };
  Forgotten Forget(const std::string& id);

  const std::string sandbox_;
  const uint32_t max_running_;

  mutable sandbox::Mutex mutex_;
  RequestTable<Execution> executions_ ABSL_GUARDED_BY(mutex_);
  // The executions that have not ended, by id.
  std::map<std::string, std::unique_ptr<RunningCommand>> running_
      ABSL_GUARDED_BY(mutex_);
  PendingCalls<Started> starts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_EXECUTION_TABLE_H_
