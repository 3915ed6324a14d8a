// Ends unary calls.

#ifndef SERVER_RPC_UNARY_REPLY_H_
#define SERVER_RPC_UNARY_REPLY_H_

#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/grpc_status.h"
#include "server/runtime/activity.h"

namespace server {

// Ends the call at once, and returns its reactor.
inline grpc::ServerUnaryReactor* Reply(grpc::CallbackServerContext* context,
                                       const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Returns a function that ends the call of `reactor` and then `call`. It must
// be called once, on any thread.
inline absl::AnyInvocable<void(absl::Status)> ReplyLater(
    grpc::ServerUnaryReactor* reactor, Activity::Call call) {
  return [reactor, call = std::move(call)](const absl::Status& status) {
    reactor->Finish(ToGrpcStatus(status));
  };
}

}  // namespace server

#endif  // SERVER_RPC_UNARY_REPLY_H_
