#include "server/screen/emulator/control_parser.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace screen {
namespace {

// Records what it gets.
class Recorder : public ControlSink {
 public:
  void OnText(absl::string_view text) override {
    events.push_back(absl::StrCat("text ", text));
  }
  void OnEscape(absl::string_view raw) override {
    events.push_back(absl::StrCat("escape ", raw.substr(1)));
  }
  void OnControl(const ControlSequence& sequence) override {
    events.push_back(
        absl::StrCat("control ", sequence.Name(), " ", sequence.parameters));
  }
  void OnString(StringKind kind, absl::string_view body) override {
    events.push_back(absl::StrCat("string ", static_cast<int>(kind), body));
  }
  std::vector<std::string> events;
};

std::vector<std::string> Parse(const std::vector<std::string>& chunks) {
  Recorder recorder;
  ControlParser parser(&recorder);
  for (const std::string& chunk : chunks) {
    parser.Parse(chunk);
  }
  return recorder.events;
}

using Events = std::vector<std::string>;

TEST(ControlParser, SplitsTextAndSequences) {
  EXPECT_EQ(Parse({"a\n\x1b[1;2mb\x1b[?25h\x1b[!p\x1b(0"}),
            (Events{"text a\n", "control m 1;2", "text b", "control ?h 25",
                    "control !p ", "escape (0"}));
}

TEST(ControlParser, ContinuesSequencesAndCharactersAcrossChunks) {
  EXPECT_EQ(Parse({"\x1b", "[3", "1mx\xe6", "\xbc\xa2y"}),
            (Events{"control m 31", "text x", "text \xe6\xbc\xa2y"}));
}

TEST(ControlParser, ReportsStringsWithBothTerminators) {
  EXPECT_EQ(Parse({"\x1b]0;a\x07\x1b]2;b\x1b\\\x1bP$qm\x1b\\"}),
            (Events{"string 00;a", "string 02;b", "string 1$qm"}));
}

TEST(ControlParser, HidesTheBodiesOfPrivateStrings) {
  EXPECT_EQ(Parse({"\x1b_secret\x1b\\x\x1b^y\x1b\\\x1bXz\x1b\\"}),
            (Events{"string 2", "text x", "string 2", "string 2"}));
}

TEST(ControlParser, ExecutesControlCharactersInsideASequence) {
  EXPECT_EQ(Parse({"\x1b[3\n1m"}), (Events{"text \n", "control m 31"}));
}

TEST(ControlParser, AbandonsASequenceThatIsCancelled) {
  EXPECT_EQ(Parse({"\x1b[31\x18x\x1b]0;t\x1ay"}), (Events{"text x", "text y"}));
}

TEST(ControlParser, DropsWhatIsTooLongAndRecovers) {
  const std::string digits(ControlParser::kMaxSequence, '1');
  EXPECT_EQ(Parse({"\x1b[" + digits + "mx"}), (Events{"text x"}));
  const std::string body(ControlParser::kMaxString + 1, 'b');
  EXPECT_EQ(Parse({"\x1b]0;" + body + "\x07y"}), (Events{"text y"}));
}

}  // namespace
}  // namespace screen
