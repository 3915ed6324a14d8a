#ifndef BRIDGE_ACP_GATE_GATE_H_
#define BRIDGE_ACP_GATE_GATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/requests/own_requests.h"
#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/gate/gated_command.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// Decides whether a command of the agent may run: by the rules, and where these
// say ASK by a session/request_permission to the client. Keeps in mind what the
// user has decided for a whole session, by command line and directory. Writes
// each decision to the audit log; a decision that cannot be written is DENY.
//
// Used on the loop's thread only.
class Gate {
 public:
  using Send = absl::AnyInvocable<void(std::string)>;

  struct Verdict {
    bool allowed = false;
    // Why the command may not run, for the model.
    std::string reason = {};
    // The source of the decision, for the audit log: "rule 3", "otherwise",
    // "user".
    std::string by = {};
    absl::Duration timeout = absl::InfiniteDuration();
    absl::Duration cpu_timeout = absl::InfiniteDuration();
    // The rule that decided, or that had the bridge ask the user, and its own
    // sandbox: see Ruling.
    std::string rule = {};
    std::optional<corral::v1::Sandbox> sandbox = std::nullopt;
  };
  using Done = absl::AnyInvocable<void(const Verdict&)>;

  // All pointers must outlive this object. `to_client` gets lines.
  Gate(GateRules rules, OwnRequests* requests, AuditLog* audit, Send to_client);

  // Runs `done` at once, or when the user has answered. Returns the number of
  // the question for Withdraw(), 0 if there is none.
  uint64_t Decide(const GatedCommand& command, Done done);

  // Called when nobody waits for the answer to this question any more: the
  // command is not allowed, and `done` will not run.
  void Withdraw(uint64_t question);

  void CloseSession(const std::string& session_id);

 private:
  struct Question {
    std::string request_id;
    GatedCommand command;
    Ruling ruling;
    Done done;
  };
  enum class Remembered { kAllowed, kRejected };

  uint64_t Ask(const GatedCommand& command, const Ruling& ruling, Done done);
  void OnAnswer(uint64_t number, const Message& response);
  // Ends the card that the question made in the client.
  void EndCard(uint64_t number, const Question& question, bool allowed);
  // Writes a decision to the audit log, and returns it.
  Verdict Decided(const GatedCommand& command, const Ruling& ruling,
                  bool allowed, const std::string& by,
                  const std::string& reason);

  const GateRules rules_;
  OwnRequests* const requests_;
  AuditLog* const audit_;
  Send to_client_;
  uint64_t next_question_ = 1;
  std::map<uint64_t, Question> questions_;
  // Session id; directory and command line.
  std::map<std::string, std::map<std::string, Remembered>> remembered_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_GATE_GATE_H_
