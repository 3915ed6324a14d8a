#ifndef BRIDGE_ACP_REQUESTS_OWN_REQUESTS_H_
#define BRIDGE_ACP_REQUESTS_OWN_REQUESTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/functional/any_invocable.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// The requests that the bridge itself makes to the client, among those of the
// agent that it passes on. The ids of the agent's requests stay as they are.
// The bridge's own are strings that begin with a random UUID, which the agent
// never sees, so that no id of the agent equals one. Used on the loop's thread
// only.
class OwnRequests {
 public:
  using Send = absl::AnyInvocable<void(std::string)>;
  // The result of `response` is empty if the client answered with an error.
  using Done = absl::AnyInvocable<void(const Message& response)>;

  // `to_client` gets each request as a line.
  explicit OwnRequests(Send to_client);

  // Runs `done` with the client's response. Returns the id for Cancel().
  std::string Request(const std::string& method, const Json& params, Done done);

  // Tells the client that nobody waits for the response any more; `done` will
  // not run.
  void Cancel(const std::string& id);

  // Returns true if `response` answers a request that was made here. It must
  // then not be passed on to the agent.
  bool OnResponse(const Message& response);

 private:
  const std::string prefix_;
  uint64_t next_ = 1;
  Send to_client_;
  // The key is the canonical id.
  std::map<std::string, Done> pending_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_REQUESTS_OWN_REQUESTS_H_
