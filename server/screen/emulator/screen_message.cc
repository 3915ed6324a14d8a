#include "server/screen/emulator/screen_message.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/screen/emulator/cell.h"
#include "server/screen/emulator/scrollback.h"

namespace screen {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

void AppendUtf8(uint32_t c, std::string* text) {
  // Control characters could control the terminal of a person who looks at the
  // text.
  const bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || is_control) {
    c = kReplacement;
  }
  if (c < 0x80) {
    *text += static_cast<char>(c);
    return;
  }
  const int rest = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  const uint32_t lead = rest == 1 ? 0xc0 : rest == 2 ? 0xe0 : 0xf0;
  *text += static_cast<char>(lead | c >> (6 * rest));
  for (int i = rest - 1; i >= 0; --i) {
    *text += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3f));
  }
}

void AppendCell(const Cell& cell, std::string* text) {
  if (!cell.written()) {
    *text += ' ';
    return;
  }
  for (const uint32_t character : cell.characters) {
    if (character == 0) {
      return;
    }
    AppendUtf8(character, text);
  }
}

std::string TextOf(const CellRow& row) {
  std::string text;
  const size_t length = WrittenLength(row);
  for (size_t column = 0; column < length; ++column) {
    if (row[column].width != 0) {
      AppendCell(row[column], &text);
    }
  }
  return text;
}

void SetColor(const CellColor& color, corral::v1::Color* message) {
  if (color.kind == CellColor::Kind::kIndex) {
    message->set_index(color.value);
  } else {
    message->set_rgb(color.value);
  }
}

void SetStyle(const CellStyle& style, corral::v1::Style* message) {
  if (style.foreground.kind != CellColor::Kind::kDefault) {
    SetColor(style.foreground, message->mutable_foreground());
  }
  if (style.background.kind != CellColor::Kind::kDefault) {
    SetColor(style.background, message->mutable_background());
  }
  message->set_bold(style.bold);
  message->set_dim(style.dim);
  message->set_italic(style.italic);
  message->set_underline(
      static_cast<corral::v1::Style::Underline>(style.underline));
  message->set_blink(style.blink);
  message->set_inverse(style.inverse);
  message->set_hidden(style.hidden);
  message->set_strike(style.strike);
  message->set_overline(style.overline);
}

void AddRuns(const CellRow& row, corral::v1::Line* line) {
  const size_t length = StyledLength(row);
  const Cell* before = nullptr;
  for (size_t column = 0; column < length; ++column) {
    const Cell& cell = row[column];
    if (cell.width == 0) {
      continue;
    }
    if (before == nullptr || before->width != cell.width ||
        !(before->style == cell.style)) {
      corral::v1::Run* run = line->add_runs();
      run->set_wide(cell.width == 2);
      if (!(cell.style == CellStyle())) {
        SetStyle(cell.style, run->mutable_style());
      }
    }
    corral::v1::Run* run = line->mutable_runs(line->runs_size() - 1);
    AppendCell(cell, run->mutable_text());
    run->set_columns(run->columns() + cell.width);
    before = &cell;
  }
}

void AddLine(const CellRow& row, bool styles, corral::v1::Line* line) {
  line->set_text(TextOf(row));
  if (styles) {
    AddRuns(row, line);
  }
}

struct Decoded {
  // Has no value if the bytes are not valid UTF-8.
  std::optional<uint32_t> character;
  size_t size;
};

size_t LengthByLead(uint8_t lead) {
  if (lead < 0x80) {
    return 1;
  }
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
}

// Decodes the bytes at the begin.
Decoded DecodeUtf8(absl::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  const size_t length = LengthByLead(lead);
  uint32_t c = length <= 1 ? lead : lead & (0xff >> (length + 1));
  size_t got = 1;
  while (got < length && got < bytes.size() &&
         (static_cast<uint8_t>(bytes[got]) & 0xc0) == 0x80) {
    c = c << 6 | (static_cast<uint8_t>(bytes[got++]) & 0x3f);
  }
  const bool shortest = length < 3 || c >= (length == 3 ? 0x800U : 0x10000U);
  return {length != 0 && got == length && shortest ? std::optional(c)
                                                   : std::nullopt,
          got};
}

// Returns the text without control characters and without bytes that are not
// valid UTF-8.
std::string Printable(absl::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const auto [character, size] = DecodeUtf8(bytes);
    if (character.has_value() && *character >= 0x20 && *character != 0x7f) {
      AppendUtf8(*character, &text);
    }
    bytes.remove_prefix(size);
  }
  return text;
}

corral::v1::Cursor::Shape ToShape(int shape) {
  switch (shape) {
    case VTERM_PROP_CURSORSHAPE_UNDERLINE:
      return corral::v1::Cursor::UNDERLINE;
    case VTERM_PROP_CURSORSHAPE_BAR_LEFT:
      return corral::v1::Cursor::BAR;
    default:
      return corral::v1::Cursor::BLOCK;
  }
}

corral::v1::Modes::Mouse ToMouse(int mouse) {
  switch (mouse) {
    case VTERM_PROP_MOUSE_CLICK:
      return corral::v1::Modes::CLICKS;
    case VTERM_PROP_MOUSE_DRAG:
      return corral::v1::Modes::DRAGS;
    case VTERM_PROP_MOUSE_MOVE:
      return corral::v1::Modes::ALL_MOVES;
    default:
      return corral::v1::Modes::NO_MOUSE;
  }
}

void SetModes(const TerminalModes& modes, corral::v1::Screen* screen) {
  corral::v1::Modes* message = screen->mutable_modes();
  message->set_application_cursor_keys(modes.application_cursor_keys);
  message->set_application_keypad(modes.application_keypad);
  message->set_bracketed_paste(modes.bracketed_paste);
  message->set_inverse(modes.inverse);
  message->set_mouse(ToMouse(modes.mouse));
  screen->mutable_cursor()->set_visible(modes.cursor_visible);
  screen->mutable_cursor()->set_shape(ToShape(modes.cursor_shape));
}

}  // namespace

corral::v1::Screen Describe(const Terminal& terminal, size_t scrollback_lines,
                            bool styles) {
  corral::v1::Screen screen;
  const CellGrid& grid = terminal.grid();
  screen.mutable_size()->set_rows(grid.rows());
  screen.mutable_size()->set_columns(grid.columns());
  const CursorPosition cursor = terminal.cursor();
  screen.mutable_cursor()->set_row(cursor.row);
  screen.mutable_cursor()->set_column(cursor.column);
  for (int row = 0; row < grid.rows(); ++row) {
    AddLine(grid.row(row), styles, screen.add_lines());
  }
  if (!terminal.alternate()) {
    const auto& lines = terminal.scrollback().lines();
    for (size_t i = lines.size() - std::min(lines.size(), scrollback_lines);
         i < lines.size(); ++i) {
      AddLine(lines[i], styles, screen.add_scrollback());
    }
  }
  screen.set_alternate(terminal.alternate());
  SetModes(terminal.modes(), &screen);
  screen.set_title(Printable(terminal.title()));
  screen.set_end_offset(terminal.offset());
  return screen;
}

}  // namespace screen
