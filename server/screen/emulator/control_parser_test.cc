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

TEST(ControlParser, ParsesASequenceThatEndsAStringWhichIsTooLong) {
  const std::string body(ControlParser::kMaxString + 1, 'b');
  EXPECT_EQ(Parse({"\x1b]0;" + body + "\x1b[31mx"}),
            (Events{"control m 31", "text x"}));
  EXPECT_EQ(Parse({"\x1b]0;" + body + "\x1b]2;t\x07"}),
            (Events{"string 02;t"}));
}

TEST(ControlParser, TakesSequencesUpToTheirLongest) {
  // ESC, [ and the final character count too.
  const std::string digits(ControlParser::kMaxSequence - 3, '1');
  EXPECT_EQ(Parse({"\x1b[" + digits + "m"}), (Events{"control m " + digits}));
  EXPECT_EQ(Parse({"\x1b[1" + digits + "m"}), (Events{}));
  const std::string body(ControlParser::kMaxString - 2, 'b');
  EXPECT_EQ(Parse({"\x1b]0;" + body + "\x07"}), (Events{"string 00;" + body}));
  EXPECT_EQ(Parse({"\x1b]0;b" + body + "\x07"}), (Events{}));
}

TEST(ControlParser, KeepsCharactersOfEveryLengthWhole) {
  for (const std::string character :
       {"\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80"}) {
    for (size_t at = 1; at < character.size(); ++at) {
      EXPECT_EQ(Parse({"a" + character.substr(0, at), character.substr(at)}),
                (Events{"text a", "text " + character}));
    }
    EXPECT_EQ(Parse({character, "b"}), (Events{"text " + character, "text b"}));
  }
  // Bytes that are no UTF-8 do not wait for more.
  EXPECT_EQ(Parse({"\x80\x80\x80\x80", "b"}),
            (Events{"text \x80\x80\x80\x80", "text b"}));
  EXPECT_EQ(Parse({"\xc3\x1b[m"}), (Events{"text \xc3", "control m "}));
}

TEST(ControlParser, PassesLongTextOnInParts) {
  EXPECT_EQ(Parse({std::string(4097, 'x')}),
            (Events{"text " + std::string(4096, 'x'), "text x"}));
}

TEST(ControlParser, IgnoresSequencesThatAreNotAscii) {
  EXPECT_EQ(Parse({"\x1b\xff"
                   "a\x1b[3\xff"
                   "b\x1b\\c"}),
            (Events{"text a", "text b", "text c"}));
  EXPECT_EQ(Parse({"\x1b\200x\x1b[3\200y"}), (Events{"text x", "text y"}));
}

TEST(ControlParser, ABellEndsOnlyACommandOfTheOperatingSystem) {
  EXPECT_EQ(Parse({"\x1bP$q\x07m\x1b\\"}), (Events{"string 1$q\x07m"}));
}

TEST(ControlParser, AnEscapeBeginsTheSequenceAnew) {
  EXPECT_EQ(
      Parse({"\x1b\x1b[m\x1b[3\x1b[4m\x1b]0;a\x1b[5m"}),
      (Events{"control m ", "control m 4", "string 00;a", "control m 5"}));
}

TEST(ControlParser, AbandonsAnEscapeThatIsCancelled) {
  EXPECT_EQ(Parse({"\x1b\x18[a\x1b(\x1a"
                   "b\x1b\nc"}),
            (Events{"text [a", "text b", "text \n", "escape c"}));
}

TEST(ControlParser, CountsTheBytesThatItParsed) {
  Recorder recorder;
  ControlParser parser(&recorder);
  parser.Parse("ab\x1b[");
  parser.Parse("m");
  EXPECT_EQ(parser.parsed(), 5);
}

TEST(ControlParser, SplitsASequenceIntoItsParts) {
  class Keeper : public Recorder {
   public:
    void OnControl(const ControlSequence& sequence) override {
      last = sequence;
    }
    ControlSequence last;
  };
  Keeper keeper;
  ControlParser parser(&keeper);
  parser.Parse("\x1b[>1;2:3 !q");
  EXPECT_EQ(keeper.last.prefix, '>');
  EXPECT_EQ(keeper.last.parameters, "1;2:3");
  EXPECT_EQ(keeper.last.intermediates, " !");
  EXPECT_EQ(keeper.last.final, 'q');
  EXPECT_EQ(keeper.last.raw, "\x1b[>1;2:3 !q");
}

TEST(ControlParser, EndsAnEscapeThatIsTooLong) {
  // ESC counts too.
  const std::string spaces(ControlParser::kMaxSequence - 2, ' ');
  EXPECT_EQ(Parse({"\x1b" + spaces + "Fx"}),
            (Events{"escape " + spaces + "F", "text x"}));
  EXPECT_EQ(Parse({"\x1b" + spaces + " Fx"}),
            (Events{"escape " + spaces + " ", "text Fx"}));
}

}  // namespace
}  // namespace screen
