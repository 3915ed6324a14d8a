#ifndef BRIDGE_ACP_TERMINALS_CREATIONS_H_
#define BRIDGE_ACP_TERMINALS_CREATIONS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/terminals/command_starter.h"
#include "bridge/acp/terminals/terminal_params.h"
#include "bridge/gate/audit_log.h"

namespace bridge {

// The terminal/create requests that are not answered yet. Used on the loop's
// thread only.
class Creations {
 public:
  struct Creation {
    std::string id;  // of the request, as written
    std::string session_id;
    size_t output_byte_limit;
  };
  using Done =
      absl::AnyInvocable<void(const Creation&, const CommandStarter::Started&)>;

  // All pointers must outlive this object. The audit log gets an end for each
  // command that was allowed and is not handed to `done` as one that runs.
  Creations(CommandStarter* starter, Deletions* deletions, AuditLog* audit)
      : starter_(starter), deletions_(deletions), audit_(audit) {}

  // Runs `done`, unless the creation is cancelled before.
  void Begin(absl::string_view id, const CreateTerminalParams& params,
             Done done);

  // Ends the creation with this id, in any spelling; deletes what it starts.
  // Returns false if there is none.
  bool Cancel(absl::string_view id);

  // Ends all creations of the session, and returns the ids of their requests.
  std::vector<std::string> CancelSession(const std::string& session_id);

 private:
  struct Pending {
    enum class State { kStarting, kCancelled };
    Creation creation;
    State state = State::kStarting;
    CommandStarter::Handle start = {};
    Done done;
  };

  void OnStarted(const std::shared_ptr<Pending>& pending,
                 const CommandStarter::Started& started);
  void RecordUnknown(const CommandStarter::Started& started);
  void Cancel(Pending& pending);

  CommandStarter* const starter_;
  Deletions* const deletions_;
  AuditLog* const audit_;
  std::vector<std::shared_ptr<Pending>> pending_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_CREATIONS_H_
