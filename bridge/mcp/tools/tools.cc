#include "bridge/mcp/tools/tools.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "bridge/mcp/picture/glyphs.h"
#include "bridge/mcp/picture/png_file.h"
#include "bridge/mcp/picture/screen_picture.h"
#include "bridge/mcp/picture/screen_svg.h"
#include "bridge/mcp/terminal/keys.h"
#include "bridge/mcp/terminal/screen_text.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

// The length of a text as JavaScript counts it, in UTF-16 units.
size_t Utf16Length(absl::string_view text) {
  size_t length = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    length += (byte & 0xc0) == 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
  }
  return length;
}

OrderedJson CursorOf(const corral::v1::Screen& screen) {
  return {{"x", screen.cursor().column()}, {"y", screen.cursor().row()}};
}

OrderedJson DimensionsOf(const corral::v1::Screen& screen) {
  return {{"cols", screen.size().columns()}, {"rows", screen.size().rows()}};
}

Modifiers ToModifiers(const std::vector<std::string>& names) {
  Modifiers modifiers;
  for (const std::string& name : names) {
    modifiers.shift = modifiers.shift || name == "shift";
    modifiers.alt = modifiers.alt || name == "alt";
    modifiers.ctrl = modifiers.ctrl || name == "ctrl";
  }
  return modifiers;
}

// The picture, and beside it what cannot be read from it.
ToolResult Picture(const corral::v1::Screen& screen) {
  ToolResult result = ToolResult::Object(
      {{"cursor", CursorOf(screen)}, {"dimensions", DimensionsOf(screen)}});
  const std::string png = ToPng(DrawScreen(screen, Glyphs::Unifont()));
  result.content.insert(result.content.begin(),
                        OrderedJson({{"type", "image"},
                                     {"data", absl::Base64Escape(png)},
                                     {"mimeType", "image/png"}}));
  return result;
}

}  // namespace

Tools::Tools(Terminals* terminals, Recorder* recorder)
    : terminals_(terminals),
      recorder_(recorder),
      tools_({{"type", &Tools::Type},
              {"sendKey", &Tools::SendKey},
              {"getContent", &Tools::GetContent},
              {"takeScreenshot", &Tools::TakeScreenshot},
              {"clear", &Tools::Clear},
              {"startRecording", &Tools::StartRecording},
              {"stopRecording", &Tools::StopRecording},
              {"createSession", &Tools::CreateSession},
              {"listSessions", &Tools::ListSessions},
              {"destroySession", &Tools::DestroySession},
              {"readOutput", &Tools::ReadOutput},
              {"resize", &Tools::Resize},
              {"signal", &Tools::Signal}}),
      waiting_tools_({{"run", &Tools::Run}, {"wait", &Tools::Wait}}) {}

ToolOutcome Tools::Call(const std::string& name, const OrderedJson& values) {
  sandbox::MutexLock lock(&mutex_);
  const Arguments arguments(values);
  const auto waiting = waiting_tools_.find(name);
  Outcome outcome = ToolOutcome();
  if (waiting != waiting_tools_.end()) {
    outcome = (this->*waiting->second)(arguments);
  } else {
    Result result = (this->*tools_.at(name))(arguments);
    if (result.ok()) {
      outcome->result = *std::move(result);
    } else {
      outcome = result.status();
    }
  }
  if (!outcome.ok()) {
    return {ToolResult::Failure(outcome.status()), {}};
  }
  return *std::move(outcome);
}

absl::StatusOr<std::shared_ptr<Terminal>> Tools::Find(
    const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string session,
                   arguments.String("sessionId", ""));
  return terminals_->Find(session);
}

Tools::Result Tools::Type(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string text, arguments.RequiredString("text"));
  ASSIGN_OR_RETURN(const auto terminal, Find(arguments));
  RETURN_IF_ERROR(terminal->Type(text));
  const size_t typed = Utf16Length(text);
  return ToolResult::Text(
      absl::StrCat("Typed ", typed, " character(s) to terminal"),
      {{"typed", typed}});
}

Tools::Result Tools::SendKey(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string key, arguments.RequiredString("key"));
  ASSIGN_OR_RETURN(const auto held,
                   arguments.Choices("modifiers", {"shift", "alt", "ctrl"}));
  ASSIGN_OR_RETURN(std::string bytes,
                   held.has_value() ? ModifiedKeyBytes(key, ToModifiers(*held))
                                    : KeyBytes(key));
  ASSIGN_OR_RETURN(const auto terminal, Find(arguments));
  if (held.has_value() && held->empty()) {
    ASSIGN_OR_RETURN(const corral::v1::Screen screen,
                     terminal->GetScreen(/*styles=*/false));
    if (screen.modes().application_cursor_keys()) {
      bytes = ApplicationKeyBytes(bytes);
    }
  }
  RETURN_IF_ERROR(terminal->Type(bytes));
  return ToolResult::Text(absl::StrCat("Sent key: ", key), {{"key", key}});
}

Tools::Result Tools::GetContent(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const bool visible_only,
                   arguments.Bool("visibleOnly", false));
  ASSIGN_OR_RETURN(const auto terminal, Find(arguments));
  ASSIGN_OR_RETURN(const corral::v1::Screen screen,
                   terminal->GetScreen(/*styles=*/false));
  std::string text = visible_only ? VisibleText(screen) : WholeText(screen);
  if (text.empty()) {
    text = "(empty terminal)";
  }
  return ToolResult::Text(text, {{"content", text}});
}

Tools::Result Tools::TakeScreenshot(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string format,
                   arguments.Choice("format", {"text", "ansi", "png", "svg"}));
  ASSIGN_OR_RETURN(const auto terminal, Find(arguments));
  ASSIGN_OR_RETURN(const corral::v1::Screen screen,
                   terminal->GetScreen(/*styles=*/format != "text"));
  if (format == "png") {
    return Picture(screen);
  }
  return ToolResult::Object(
      {{"content", format == "ansi"  ? AnsiText(screen)
                   : format == "svg" ? ToSvg(screen)
                                     : VisibleText(screen)},
       {"cursor", CursorOf(screen)},
       {"dimensions", DimensionsOf(screen)}});
}

Tools::Result Tools::Clear(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto terminal, Find(arguments));
  RETURN_IF_ERROR(terminal->Clear());
  return ToolResult::Text("Terminal cleared", {{"cleared", true}});
}

}  // namespace bridge
