// Chooses how the output of a terminal reaches the user of the editor while the
// command runs. Clients differ in what they can show.

#ifndef BRIDGE_ACP_DISPLAY_DISPLAY_ROUTE_H_
#define BRIDGE_ACP_DISPLAY_DISPLAY_ROUTE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

enum class DisplayRoute {
  // The client shows a terminal that the bridge fills with `_meta` messages:
  // terminal_info, terminal_output and terminal_exit, as Zed does.
  kMeta,
  // The client's own terminal runs `corral attach`.
  kMirror,
  // The output is text in the tool call, sent again when it has changed.
  kText,
};

// The features that a client announced in its `initialize`.
struct ClientFeatures {
  bool terminal = false;
  // The member of `_meta` that carries output: "terminal_output", or
  // "terminal_output_delta" for clients that announced only that. Empty: the
  // client knows no such messages.
  std::string output_member;
};

// `params` is the text of initialize's params.
ClientFeatures ParseClientFeatures(absl::string_view params);

enum class DisplayChoice { kAuto, kMeta, kMirror, kText };

// The value of --display: auto, meta, mirror or text.
absl::StatusOr<DisplayChoice> ParseDisplayChoice(absl::string_view text);

// Returns the best route that the client announced for kAuto. Returns kMeta and
// kMirror only if the client announced what they need, otherwise kText.
DisplayRoute ChooseRoute(DisplayChoice choice, const ClientFeatures& features);

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_DISPLAY_ROUTE_H_
