// A terminal emulator of fixed size: libvterm interprets the output, and this
// class keeps what it draws.

#ifndef SERVER_SCREEN_EMULATOR_TERMINAL_H_
#define SERVER_SCREEN_EMULATOR_TERMINAL_H_

#include <vterm.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/screen/emulator/answers.h"
#include "server/screen/emulator/cell.h"
#include "server/screen/emulator/cell_grid.h"
#include "server/screen/emulator/control_parser.h"
#include "server/screen/emulator/graphic_rendition.h"
#include "server/screen/emulator/scrollback.h"

namespace screen {

// The behaviour that the program asked of its terminal; see corral.v1.Modes and
// Cursor.
struct TerminalModes {
  bool application_cursor_keys = false;
  bool application_keypad = false;
  bool bracketed_paste = false;
  bool inverse = false;
  bool wraps = true;
  bool cursor_visible = true;
  int cursor_shape = VTERM_PROP_CURSORSHAPE_BLOCK;
  int mouse = VTERM_PROP_MOUSE_NONE;
};

struct CursorPosition {
  int row;
  // Equal to the number of columns while a wrap is pending.
  int column;
};

// Not thread-safe.
class Terminal : private ControlSink {
 public:
  // `offset` is the offset of the first byte in the execution's output.
  Terminal(int rows, int columns, uint64_t offset);

  void Write(absl::string_view output);
  // So many bytes of output are missing before the next.
  void Skip(uint64_t bytes) { begin_ += bytes; }

  // Makes the line of the cursor the first one, and erases everything else and
  // the scrollback. In the alternate screen the main screen stays. Does nothing
  // if the cursor is at the top and there is no scrollback.
  void Clear();

  const CellGrid& grid() const { return alternate_ ? alternate_grid_ : grid_; }
  const Scrollback& scrollback() const { return scrollback_; }
  bool alternate() const { return alternate_; }
  CursorPosition cursor() const;
  const TerminalModes& modes() const { return modes_; }
  const std::string& title() const { return title_; }
  // One past the last byte that was written or skipped.
  uint64_t offset() const { return begin_ + parser_.parsed(); }
  const Answers& answers() const { return answers_; }

 private:
  struct FreeVterm {
    void operator()(VTerm* vterm) const { ::vterm_free(vterm); }
  };
  struct Callbacks;
  friend struct Callbacks;

  void OnText(absl::string_view text) override;
  void OnEscape(absl::string_view raw) override;
  void OnControl(const ControlSequence& sequence) override;
  void OnString(StringKind kind, absl::string_view body) override;

  // Returns true if libvterm need not see the sequence.
  bool Intercept(const ControlSequence& sequence, const std::string& name);
  bool AnswerQuestion(const std::string& name, absl::string_view parameters);
  // `modes` has numbers with ";" between them.
  void SetModes(absl::string_view modes, bool on);
  void SetMode(absl::string_view mode, bool on);
  void SaveStyle() { saved_extra_ = extra_; }
  void RestoreStyle() { extra_ = saved_extra_; }
  void Reset();
  // libvterm's soft reset (DECSTR) leaves margins and origin mode as they are.
  void ResetMargins();
  void Forward(absl::string_view bytes);
  void Answer(absl::string_view bytes) { answers_.Add(offset() - 1, bytes); }

  CellGrid& current_grid() { return alternate_ ? alternate_grid_ : grid_; }
  CellStyle Pen() const;
  CellStyle Background() const;
  void SetPen(VTermAttr attribute, const VTermValue& value);
  void SetProperty(VTermProp property, const VTermValue& value);
  void PutGlyph(const VTermGlyphInfo& glyph, VTermPos position);
  void ScrollRect(const VTermRect& rect, int up, int left);

  const std::unique_ptr<VTerm, FreeVterm> vterm_;
  VTermState* const state_;
  ControlParser parser_;
  CellGrid grid_;
  CellGrid alternate_grid_;
  Scrollback scrollback_;
  bool alternate_ = false;
  // True while the sequence in progress scrolls without filling the scrollback.
  bool discards_scrolled_lines_ = false;
  CellStyle pen_;
  ExtraStyle extra_;
  ExtraStyle saved_extra_;
  TerminalModes modes_;
  std::string title_;
  // True if the last character filled the last column, and the cursor has not
  // moved since.
  bool wrap_pending_ = false;
  VTermPos last_glyph_ = {-1, -1};
  // The bytes of the execution's output that were not written to the terminal.
  uint64_t begin_;
  Answers answers_;
};

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_TERMINAL_H_
