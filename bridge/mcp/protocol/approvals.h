// Questions to the user of a client: may this run?

#ifndef BRIDGE_MCP_PROTOCOL_APPROVALS_H_
#define BRIDGE_MCP_PROTOCOL_APPROVALS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/mcp/protocol/reply_channel.h"

namespace bridge {

// The client shows them as forms (elicitation). With a session, the question is
// a request of this server. Without one, it is the result of the call, which
// the client repeats with the answer. Thread-safe.
class Approvals {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Answer { kNone, kAllowed, kAllowedForSession, kRejected };

  // `now` reads the clock, on the threads that ask.
  explicit Approvals(std::function<Clock::time_point()> now = Clock::now);

  // Sends a question, and blocks until the answer comes, until `is_cancelled`,
  // which is called often, returns true, or until kLongestQuestion is over.
  Answer Ask(const std::string& text, ReplyChannel* channel,
             const std::function<bool()>& is_cancelled);
  // A message of the client that answers a request. Others are ignored.
  void OnResponse(const Message& message);

  // The result of a call that needs an answer first.
  OrderedJson Demand(const std::string& text, const std::string& call);
  // Returns the answer that the repeated call carries. Absent: it carries none,
  // or one that belongs to another call or was used before.
  std::optional<Answer> Redeem(const OrderedJson& params,
                               const std::string& call);

  static constexpr std::chrono::minutes kLongestQuestion{10};
  // Calls that were not repeated are forgotten, the oldest first.
  static constexpr size_t kMaxDemands = 64;

 private:
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t asked_ = 0;
  // The questions that wait, by the id of their request.
  std::map<std::string, Answer> waiting_;
  struct Demanded {
    std::string token;
    std::string call;
  };
  std::vector<Demanded> demanded_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_APPROVALS_H_
