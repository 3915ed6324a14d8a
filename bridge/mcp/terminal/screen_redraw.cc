#include "bridge/mcp/terminal/screen_redraw.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/mcp/terminal/screen_text.h"

namespace bridge {
namespace {

using corral::v1::Cursor;
using corral::v1::Modes;
using corral::v1::Screen;

std::string PrivateMode(absl::string_view number, bool on) {
  return on ? absl::StrCat("\x1b[?", number, "h") : "";
}

const char* MouseMode(Modes::Mouse mouse) {
  switch (mouse) {
    case Modes::CLICKS:
      return "1000";
    case Modes::DRAGS:
      return "1002";
    case Modes::ALL_MOVES:
      return "1003";
    default:
      return "";
  }
}

const char* CursorShape(Cursor::Shape shape) {
  switch (shape) {
    case Cursor::UNDERLINE:
      return "\x1b[4 q";
    case Cursor::BAR:
      return "\x1b[6 q";
    default:
      return "";
  }
}

std::string LineAt(const Screen& screen, int row) {
  return absl::StrCat("\x1b[", row + 1, ";1H", StyledLine(screen.lines(row)));
}

}  // namespace

std::string Redraw(const Screen& screen) {
  std::string output = PrivateMode("1049", screen.alternate());
  if (!screen.title().empty()) {
    absl::StrAppend(&output, "\x1b]2;", screen.title(), "\x07");
  }
  absl::StrAppend(&output, "\x1b[0m\x1b[H\x1b[2J");
  for (int row = 0; row < screen.lines_size(); ++row) {
    if (!screen.lines(row).runs().empty()) {
      output += LineAt(screen, row);
    }
  }
  const Modes& modes = screen.modes();
  absl::StrAppend(&output, PrivateMode("1", modes.application_cursor_keys()),
                  modes.application_keypad() ? "\x1b=" : "",
                  PrivateMode("2004", modes.bracketed_paste()),
                  PrivateMode("5", modes.inverse()));
  absl::StrAppend(
      &output,
      PrivateMode(MouseMode(modes.mouse()), modes.mouse() != Modes::NO_MOUSE),
      CursorShape(screen.cursor().shape()),
      screen.cursor().visible() ? "" : "\x1b[?25l");
  const int row = static_cast<int>(screen.cursor().row());
  if (screen.cursor().column() < screen.size().columns()) {
    absl::StrAppend(&output, "\x1b[", row + 1, ";",
                    screen.cursor().column() + 1, "H");
  } else if (row < screen.lines_size()) {
    // The cursor waits behind the last column. No sequence moves it there: only
    // writing the last column again does.
    output += LineAt(screen, row);
  }
  return output;
}

}  // namespace bridge
