// The execution that a request names.

#ifndef SERVER_RPC_FOUND_EXECUTION_H_
#define SERVER_RPC_FOUND_EXECUTION_H_

#include <memory>
#include <string>

#include "server/core/execution.h"
#include "server/core/lifetime.h"
#include "server/core/sandbox.h"

namespace server {

struct FoundExecution {
  std::shared_ptr<Sandbox> sandbox;
  std::shared_ptr<Execution> execution;
  // The last part of the name.
  std::string id;
  // Keeps the sandbox for as long as the call lasts.
  std::shared_ptr<const CallHold> hold;
};

}  // namespace server

#endif  // SERVER_RPC_FOUND_EXECUTION_H_
