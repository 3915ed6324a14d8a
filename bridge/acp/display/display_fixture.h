// A display for tests, with the messages that its client gets.

#ifndef BRIDGE_ACP_DISPLAY_DISPLAY_FIXTURE_H_
#define BRIDGE_ACP_DISPLAY_DISPLAY_FIXTURE_H_

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/acp/display/display.h"
#include "bridge/acp/display/display_route.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/requests/own_requests.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "gtest/gtest.h"

namespace bridge {

// The capabilities of a client that fills terminals, and of one that has them.
inline constexpr char kZed[] =
    R"({"clientCapabilities":{"_meta":{"terminal_output":true}}})";
inline constexpr char kTerminals[] =
    R"({"clientCapabilities":{"terminal":true}})";
inline constexpr char kEmbed[] =
    R"("content":[{"type":"terminal","terminalId":"T"}])";

class DisplayTest : public ::testing::Test {
 protected:
  // Passes an update of the agent on as the bridge does. `members` begins with
  // a comma.
  void Update(const std::string& kind, const std::string& members,
              const std::string& call = "c") {
    const std::string line = absl::StrCat(
        R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":)",
        R"("s","x":1e400,"update":{"sessionUpdate":")", kind,
        R"(","toolCallId":")", call, "\"", members, "}}}\n");
    const std::string copy = line;
    if (!display_.OnUpdate(copy, Message::Classify(copy).params())) {
      sent_.push_back(line);
    }
  }

  void Open(const std::string& id = "T") {
    display_.OnOpened(
        {id, "s", "tenants/t/sandboxes/x/executions/" + id, "/w"});
  }

  // The next message to the client, of which `update` is returned.
  Json NextUpdate() {
    EXPECT_FALSE(sent_.empty());
    if (sent_.empty()) {
      return nullptr;
    }
    std::string line = sent_.front();
    sent_.pop_front();
    const size_t odd = line.find(R"("x":1e400,)");
    if (odd != line.npos) {  // which no parser takes
      line.erase(odd, 10);
    }
    const Json message = ParseJson(line).value_or(nullptr);
    return message["params"]["update"];
  }

  Json NextRequest() {
    EXPECT_FALSE(sent_.empty());
    if (sent_.empty()) {
      return nullptr;
    }
    const Json message = ParseJson(sent_.front()).value_or(nullptr);
    sent_.pop_front();
    return message;
  }

  void Answer(const Json& request, const Json& result) {
    const std::string line =
        Serialize(Json{{"id", request["id"]}, {"result", result}});
    EXPECT_TRUE(requests_.OnResponse(Message::Classify(line)));
  }

  void RunUntil(const std::function<bool()>& condition) {
    std::vector<pollfd> none;
    while (!condition()) {
      loop_.RunOnce(none);
    }
  }

  // Opens T in a client with terminals, where M shows it.
  void OpenMirrored() {
    Open();
    Update("tool_call", absl::StrCat(",", kEmbed));
    NextUpdate();
    Answer(NextRequest(), {{"terminalId", "M"}});
    wait_ = NextRequest();
    NextUpdate();
  }

  Json wait_;  // the request for the end of M
  PollLoop loop_;
  std::deque<std::string> sent_;
  std::vector<std::string> stopped_;
  bool has_room_ = true;
  OwnRequests requests_{[this](std::string line) { sent_.push_back(line); }};
  Display display_{&loop_,
                   &requests_,
                   {DisplayChoice::kAuto, {"/bin/corral", "attach"}},
                   [this](std::string line) { sent_.push_back(line); },
                   [this] { return has_room_; },
                   [this](const std::string& id) { stopped_.push_back(id); }};
};

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_DISPLAY_FIXTURE_H_
