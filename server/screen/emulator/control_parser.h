// Splits the output of a program into text and control sequences.

#ifndef SERVER_SCREEN_EMULATOR_CONTROL_PARSER_H_
#define SERVER_SCREEN_EMULATOR_CONTROL_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace screen {

// ESC [ prefix parameters intermediates final
struct ControlSequence {
  char prefix = 0;         // one of < = > ?; 0: none
  std::string parameters;  // digits, ; and :
  std::string intermediates;
  char final = 0;
  // The whole sequence as it was written.
  std::string raw;

  // The sequence without the raw text and the parameters: "?h", "!p", "m".
  std::string Name() const;
};

enum class StringKind { kOsc, kDcs, kIgnored };

// Receives what the parser finds, in the order of the output. The arguments are
// valid during the call only.
class ControlSink {
 public:
  virtual ~ControlSink() = default;

  // Printable text, with complete UTF-8 characters except where the output is
  // not UTF-8, and control characters other than ESC.
  virtual void OnText(absl::string_view text) = 0;
  // ESC, and what follows up to the final character.
  virtual void OnEscape(absl::string_view raw) = 0;
  virtual void OnControl(const ControlSequence& sequence) = 0;
  // A string with its introducer and without its terminator. kIgnored stands
  // for APC, PM and SOS, and has no body.
  virtual void OnString(StringKind kind, absl::string_view body) = 0;
};

// Not thread-safe. Keeps at most one sequence, bounded in length; a longer one
// is dropped up to its end.
class ControlParser {
 public:
  // `sink` must outlive the parser.
  explicit ControlParser(ControlSink* sink) : sink_(sink) {}

  // Parses output that continues the earlier one. Calls the sink for everything
  // that is complete.
  void Parse(absl::string_view output);

  // The number of bytes parsed so far. During a call of the sink, the last of
  // them is the byte that completed what the sink gets.
  uint64_t parsed() const { return parsed_; }

  static constexpr size_t kMaxSequence = 512;
  static constexpr size_t kMaxString = 8192;

 private:
  enum class State { kText, kEscape, kControl, kString, kStringEscape };

  void Enter(State state) { state_ = state; }
  void Put(char c);
  void PutText(char c);
  void BeginEscape();
  // Executes a control character inside of a sequence. Returns false if `c` is
  // none.
  bool Execute(char c);
  void PutEscape(char c);
  void PutControl(char c);
  void PutString(char c);
  void EndString();
  void FlushText(bool whole);

  ControlSink* const sink_;
  uint64_t parsed_ = 0;
  State state_ = State::kText;
  std::string text_;
  // ESC and the bytes after it, or the body of a string. Unused in text.
  std::string pending_;
  bool too_long_ = false;
  StringKind kind_ = StringKind::kIgnored;
};

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_CONTROL_PARSER_H_
