#ifndef BRIDGE_ACP_HOSTS_HOST_QUESTIONS_H_
#define BRIDGE_ACP_HOSTS_HOST_QUESTIONS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/hosts/host_calls.h"
#include "bridge/acp/requests/own_requests.h"
#include "bridge/gate/audit_log.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// Asks the user by session/request_permission whether a session may reach a
// name that its sandbox refused, one question at a time in each session, and
// allows the name there. Keeps the answers in mind for the session. Writes each
// answer to the audit log; an answer that cannot be written allows nothing.
//
// Used on the loop's thread only.
class HostQuestions {
 public:
  using Send = absl::AnyInvocable<void(std::string)>;

  // Names that wait for their question in a session, with the one that is
  // asked. Further ones are asked when they are looked up again.
  static constexpr size_t kMaxWaiting = 32;
  // Answers that are kept for a session. After that it is not asked any more.
  static constexpr size_t kMaxAnswers = 256;

  // All pointers must outlive this object, and every answer to `calls`.
  // `to_client` gets lines.
  HostQuestions(HostCalls* calls, OwnRequests* requests, AuditLog* audit,
                Send to_client);

  // Call when a program in `sandbox` has looked up `name`, which no rule
  // matches. `name` may be any text.
  void OnRefused(const std::string& session_id, const std::string& sandbox,
                 absl::string_view name);

  // Drops the questions that the session has now; the one that the client has
  // is recorded as not answered. Their names are asked about when they are
  // looked up again.
  void Cancel(const std::string& session_id);

  // The same, and forgets the answers.
  void CloseSession(const std::string& session_id);

 private:
  enum class Answer { kAllowed, kRefused };
  struct Question {
    std::string sandbox;
    std::string host;
  };
  struct Session {
    std::map<std::string, Answer> answers;  // by host
    // The client has the first one.
    std::deque<Question> waiting;
    std::string request_id;
    std::string card_id;
  };

  // Sends the first question that waits, if there is one.
  void AskNext(const std::string& session_id);
  void OnAnswer(const std::string& session_id, const Message& response);
  void Allow(const std::string& session_id, const Question& question,
             const std::string& card_id);
  // Ends the card of a question; `why` is shown unless it is empty.
  void EndCard(const std::string& session_id, const std::string& card_id,
               bool allowed, const std::string& why);

  HostCalls* const calls_;
  OwnRequests* const requests_;
  AuditLog* const audit_;
  Send to_client_;
  uint64_t next_card_ = 1;
  std::map<std::string, Session> sessions_;  // by session id
};

}  // namespace bridge

#endif  // BRIDGE_ACP_HOSTS_HOST_QUESTIONS_H_
