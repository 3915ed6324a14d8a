// One call of ReadOutput: answers with a window of the output that is kept.
// Data in the page cache is read at once, all other data by DiskReads.

#ifndef SERVER_RPC_WINDOW_CALL_H_
#define SERVER_RPC_WINDOW_CALL_H_

#include <memory>

#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/core/disk_reads.h"
#include "server/core/execution.h"
#include "server/runtime/activity.h"

namespace server {

// Begins the call and returns its reactor. `reads` must outlive the call. gRPC
// keeps `request` and `response` until the call is over.
grpc::ServerUnaryReactor* BeginWindowCall(
    grpc::CallbackServerContext* context,
    const std::shared_ptr<Execution>& execution,
    const corral::v1::ReadOutputRequest* request,
    corral::v1::ReadOutputResponse* response, DiskReads* reads,
    Activity::Call call);

}  // namespace server

#endif  // SERVER_RPC_WINDOW_CALL_H_
