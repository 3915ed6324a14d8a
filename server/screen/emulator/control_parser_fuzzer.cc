#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/base/log.h"
#include "server/screen/emulator/control_parser.h"

namespace {

// Joins what is found, so that it does not depend on how text was cut.
class Record : public screen::ControlSink {
 public:
  void OnText(absl::string_view text) override {
    found.append(text.data(), text.size());
  }
  void OnEscape(absl::string_view raw) override {
    found.append("\x1b").append(raw.data(), raw.size());
  }
  void OnControl(const screen::ControlSequence& sequence) override {
    CHECK(sequence.raw.size() <= screen::ControlParser::kMaxSequence + 1);
    found.append("\x1b[").append(sequence.raw);
  }
  void OnString(screen::StringKind, absl::string_view body) override {
    CHECK(body.size() <= screen::ControlParser::kMaxString);
    found.append("\x1b]").append(body.data(), body.size());
  }

  std::string found;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view output(reinterpret_cast<const char*>(data), size);
  Record whole;
  screen::ControlParser parser(&whole);
  parser.Parse(output);
  CHECK(parser.parsed() == size);
  // The same output comes in single bytes.
  Record parts;
  screen::ControlParser slow(&parts);
  for (size_t i = 0; i < size; ++i) {
    slow.Parse(output.substr(i, 1));
  }
  CHECK(slow.parsed() == size);
  CHECK(parts.found == whole.found);
  return 0;
}
