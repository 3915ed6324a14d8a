#include "server/screen/emulator/terminal.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/screen/emulator/checksum.h"

namespace screen {
namespace {

// Final characters of sequences that move the cursor, and so end a pending
// wrap even if the cursor stays where it is.
constexpr absl::string_view kMovingFinals = "ABCDEFGHIZ`adefrsu";
constexpr size_t kMaxTitle = 4096;

CellColor ToColor(const VTermColor& color) {
  if (VTERM_COLOR_IS_DEFAULT_FG(&color) || VTERM_COLOR_IS_DEFAULT_BG(&color)) {
    return {};
  }
  if (VTERM_COLOR_IS_INDEXED(&color)) {
    return {CellColor::Kind::kIndex, color.indexed.idx};
  }
  return {CellColor::Kind::kRgb,
          static_cast<uint32_t>(color.rgb.red << 16 | color.rgb.green << 8 |
                                color.rgb.blue)};
}

}  // namespace

// libvterm's callbacks. Each returns 1 for "done".
struct Terminal::Callbacks {
  static Terminal& Of(void* user) { return *static_cast<Terminal*>(user); }

  static int PutGlyph(VTermGlyphInfo* glyph, VTermPos position, void* user) {
    Of(user).PutGlyph(*glyph, position);
    return 1;
  }
  static int MoveCursor(VTermPos position, VTermPos, int, void* user) {
    Terminal& terminal = Of(user);
    if (::vterm_pos_cmp(position, terminal.last_glyph_) != 0) {
      terminal.wrap_pending_ = false;
    }
    return 1;
  }
  static int ScrollRect(VTermRect rect, int up, int left, void* user) {
    Of(user).ScrollRect(rect, up, left);
    return 1;
  }
  static int Erase(VTermRect rect, int selective, void* user) {
    Of(user).current_grid().Erase(
        {rect.start_row, rect.end_row, rect.start_col, rect.end_col},
        Of(user).Background(), selective != 0);
    return 1;
  }
  static int InitPen(void* user) {
    Of(user).pen_ = CellStyle();
    return 1;
  }
  static int SetPen(VTermAttr attribute, VTermValue* value, void* user) {
    Of(user).SetPen(attribute, *value);
    return 1;
  }
  static int SetProperty(VTermProp property, VTermValue* value, void* user) {
    Of(user).SetProperty(property, *value);
    return 1;
  }
  // Lines of double size are not shown as such.
  static int SetLine(int, const VTermLineInfo*, const VTermLineInfo*, void*) {
    return 0;
  }
  static void Output(const char* bytes, size_t size, void* user) {
    Of(user).Answer({bytes, size});
  }
};

Terminal::Terminal(int rows, int columns, uint64_t offset)
    : vterm_(::vterm_new(rows, columns)),
      state_(::vterm_obtain_state(vterm_.get())),
      parser_(this),
      grid_(rows, columns),
      alternate_grid_(rows, columns),
      begin_(offset) {
  static const VTermStateCallbacks callbacks = [] {
    VTermStateCallbacks all = {};
    all.putglyph = Callbacks::PutGlyph;
    all.movecursor = Callbacks::MoveCursor;
    all.scrollrect = Callbacks::ScrollRect;
    all.erase = Callbacks::Erase;
    all.initpen = Callbacks::InitPen;
    all.setpenattr = Callbacks::SetPen;
    all.settermprop = Callbacks::SetProperty;
    all.setlineinfo = Callbacks::SetLine;
    return all;
  }();
  ::vterm_set_utf8(vterm_.get(), 1);
  ::vterm_output_set_callback(vterm_.get(), Callbacks::Output, this);
  ::vterm_state_set_callbacks(state_, &callbacks, this);
  ::vterm_state_reset(state_, /*hard=*/1);
}

void Terminal::Write(absl::string_view output) { parser_.Parse(output); }

CursorPosition Terminal::cursor() const {
  VTermPos position = {0, 0};
  ::vterm_state_get_cursorpos(state_, &position);
  return {position.row, wrap_pending_ ? grid_.columns() : position.col};
}

void Terminal::Clear() {
  const int row = cursor().row;
  if (row == 0 && (alternate_ || scrollback_.lines().empty())) {
    return;
  }
  CellGrid& grid = current_grid();
  grid.Scroll({0, grid.rows(), 0, grid.columns()}, row, 0, {});
  grid.Erase({1, grid.rows(), 0, grid.columns()}, {}, /*selective=*/false);
  if (!alternate_) {
    scrollback_.Clear();
  }
  const bool pending = wrap_pending_;
  Forward("\x1b[1d");  // keeps the column
  wrap_pending_ = pending;
  last_glyph_.row = 0;
}

void Terminal::Forward(absl::string_view bytes) {
  ::vterm_input_write(vterm_.get(), bytes.data(), bytes.size());
}

void Terminal::OnText(absl::string_view text) { Forward(text); }

void Terminal::OnEscape(absl::string_view raw) {
  if (raw ==
      "\x1b"
      "7") {
    SaveStyle();
  } else if (raw ==
             "\x1b"
             "8") {
    RestoreStyle();
    wrap_pending_ = false;
  } else if (raw ==
             "\x1b"
             "c") {
    Reset();
  } else if (raw == "\x1b=" || raw == "\x1b>") {
    modes_.application_keypad = raw == "\x1b=";
  }
  Forward(raw);
}

void Terminal::Reset() {
  extra_ = saved_extra_ = ExtraStyle();
  modes_ = TerminalModes();
  title_.clear();
  scrollback_.Clear();
  wrap_pending_ = false;
  alternate_ = false;  // libvterm leaves it without a report
  alternate_grid_ = CellGrid(grid_.rows(), grid_.columns());
}

void Terminal::OnControl(const ControlSequence& sequence) {
  const std::string name = sequence.Name();
  if (Intercept(sequence, name)) {
    return;
  }
  if (sequence.prefix == 0 && sequence.intermediates.empty() &&
      absl::StrContains(kMovingFinals, absl::string_view(&sequence.final, 1))) {
    wrap_pending_ = false;
  }
  discards_scrolled_lines_ = name == "S" || name == "M";
  Forward(sequence.raw);
  discards_scrolled_lines_ = false;
}

bool Terminal::Intercept(const ControlSequence& sequence,
                         const std::string& name) {
  if (name == "m") {
    const std::string rest =
        ApplyGraphicRendition(sequence.parameters, &extra_);
    Forward(rest);
    return true;
  }
  if (name == "J" && sequence.parameters == "3") {
    scrollback_.Clear();  // libvterm ignores the sequence
  }
  if ((name == "s" || name == "u") && sequence.parameters.empty()) {
    OnEscape(name == "s" ? "\0337" : "\0338");
    return true;
  }
  if (name == "?h" || name == "?l") {
    SetModes(sequence.parameters, name == "?h");
    return true;
  }
  if (name == "!p") {
    extra_ = ExtraStyle();
    Forward("\x1b[m");  // libvterm's soft reset leaves the attributes
    modes_.cursor_visible = true;
    modes_.application_cursor_keys = false;
    modes_.application_keypad = false;
    ResetMargins();
  }
  return AnswerQuestion(name, sequence.parameters);
}

void Terminal::SetModes(absl::string_view modes, bool on) {
  // One by one: libvterm looks at the first only.
  for (const absl::string_view mode : absl::StrSplit(modes, ';')) {
    SetMode(mode, on);
    Forward(
        absl::StrCat("\x1b[?", mode == "47" ? "1047" : mode, on ? "h" : "l"));
  }
}

void Terminal::ResetMargins() {
  const CursorPosition position = cursor();
  // The sequences before the last one move the cursor, which returns to its
  // place.
  Forward(absl::StrCat("\x1b[?6l\x1b[r\x1b[?69l\x1b[", position.row + 1, ";",
                       position.column + 1, "H"));
}

bool Terminal::AnswerQuestion(const std::string& name,
                              absl::string_view parameters) {
  if (name == "t") {
    const bool screen = parameters == "19";
    if (screen || parameters == "18") {
      Answer(absl::StrCat("\x1b[", screen ? 9 : 8, ";", grid_.rows(), ";",
                          grid_.columns(), "t"));
    }
    return true;
  }
  if (name == "*y") {
    Answer(ChecksumAnswer(grid(), parameters));
    return true;
  }
  if (name == ">q") {
    Answer("\x1bP>|Corral\x1b\\");
    return true;
  }
  if (name == "=c") {
    Answer("\x1bP!|00000000\x1b\\");
    return true;
  }
  // The keyboard protocol of kitty, which is not supported.
  return name == "?u" || name == ">u" || name == "<u" || name == "=u";
}

void Terminal::SetMode(absl::string_view mode, bool on) {
  if (mode == "1") {
    modes_.application_cursor_keys = on;
  } else if (mode == "7") {
    modes_.wraps = on;
  } else if (mode == "66") {
    modes_.application_keypad = on;
  } else if (mode == "2004") {
    modes_.bracketed_paste = on;
  } else if (mode == "1048" || mode == "1049") {
    on ? SaveStyle() : RestoreStyle();
  }
}

void Terminal::OnString(StringKind kind, absl::string_view body) {
  switch (kind) {
    case StringKind::kOsc: {
      const size_t end = body.find(';');
      const absl::string_view command = body.substr(0, end);
      const absl::string_view value =
          end == body.npos ? absl::string_view() : body.substr(end + 1);
      if (command == "0" || command == "2") {
        title_ = std::string(value.substr(0, kMaxTitle));
      } else if (value == "?" && (command == "10" || command == "11")) {
        const char* const color = command == "10" ? "ffff" : "0000";
        Answer(absl::StrCat("\x1b]", command, ";rgb:", color, "/", color, "/",
                            color, "\x1b\\"));
      }
      return;
    }
    case StringKind::kDcs:
      if (absl::StartsWith(body, "$q")) {
        Forward(absl::StrCat("\x1bP", body, "\x1b\\"));
      } else if (absl::StartsWith(body, "+q")) {
        Answer("\x1bP0+r\x1b\\");
      }
      return;
    case StringKind::kIgnored:
      return;
  }
}

CellStyle Terminal::Pen() const {
  CellStyle style = pen_;
  style.dim = extra_.dim;
  style.hidden = extra_.hidden;
  style.overline = extra_.overline;
  return style;
}

CellStyle Terminal::Background() const {
  CellStyle style;
  style.background = pen_.background;
  return style;
}

void Terminal::SetPen(VTermAttr attribute, const VTermValue& value) {
  switch (attribute) {
    case VTERM_ATTR_BOLD:
      pen_.bold = value.boolean != 0;
      return;
    case VTERM_ATTR_UNDERLINE:
      pen_.underline = static_cast<uint8_t>(value.number & 3);
      return;
    case VTERM_ATTR_ITALIC:
      pen_.italic = value.boolean != 0;
      return;
    case VTERM_ATTR_BLINK:
      pen_.blink = value.boolean != 0;
      return;
    case VTERM_ATTR_REVERSE:
      pen_.inverse = value.boolean != 0;
      return;
    case VTERM_ATTR_STRIKE:
      pen_.strike = value.boolean != 0;
      return;
    case VTERM_ATTR_FOREGROUND:
      pen_.foreground = ToColor(value.color);
      return;
    case VTERM_ATTR_BACKGROUND:
      pen_.background = ToColor(value.color);
      return;
    case VTERM_ATTR_FONT:
    case VTERM_N_ATTRS:
      return;
  }
}

void Terminal::SetProperty(VTermProp property, const VTermValue& value) {
  switch (property) {
    case VTERM_PROP_CURSORVISIBLE:
      modes_.cursor_visible = value.boolean != 0;
      return;
    case VTERM_PROP_ALTSCREEN:
      alternate_ = value.boolean != 0;
      return;
    case VTERM_PROP_REVERSE:
      modes_.inverse = value.boolean != 0;
      return;
    case VTERM_PROP_CURSORSHAPE:
      modes_.cursor_shape = value.number;
      return;
    case VTERM_PROP_MOUSE:
      modes_.mouse = value.number;
      return;
    case VTERM_PROP_CURSORBLINK:
    case VTERM_PROP_TITLE:
    case VTERM_PROP_ICONNAME:
    case VTERM_N_PROPS:
      return;
  }
}

void Terminal::PutGlyph(const VTermGlyphInfo& glyph, VTermPos position) {
  Cell cell;
  for (size_t i = 0; i < cell.characters.size() && glyph.chars[i] != 0; ++i) {
    cell.characters[i] = glyph.chars[i];
  }
  cell.width = glyph.width == 2 ? 2 : 1;
  cell.is_protected = glyph.protected_cell != 0;
  cell.style = Pen();
  current_grid().Put(position.row, position.col, cell);
  last_glyph_ = position;
  wrap_pending_ = modes_.wraps && position.col + cell.width >= grid_.columns();
}

void Terminal::ScrollRect(const VTermRect& rect, int up, int left) {
  const bool whole_width =
      rect.start_col == 0 && rect.end_col == grid_.columns();
  if (!alternate_ && !discards_scrolled_lines_ && whole_width &&
      rect.start_row == 0 && left == 0) {
    for (int row = 0; row < up && row < rect.end_row; ++row) {
      scrollback_.Add(grid_.row(row));
    }
  }
  current_grid().Scroll(
      {rect.start_row, rect.end_row, rect.start_col, rect.end_col}, up, left,
      Background());
}

}  // namespace screen
