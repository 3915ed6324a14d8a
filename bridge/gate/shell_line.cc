#include "bridge/gate/shell_line.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

constexpr absl::string_view kShells[] = {"sh", "bash", "dash", "zsh", "ksh"};
constexpr char kSeparators[] = " \t\r\n'\"`$(){};&|<>=,";

// Returns true if the character means itself in every shell, outside of quotes.
bool IsPlain(char c) {
  return absl::ascii_isalnum(c) || absl::StrContains(" _-+./:@,%", c) ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

// A word of options that contains -c, like -c, -lc or -ec.
bool TakesLine(absl::string_view option) {
  return absl::StartsWith(option, "-") && !absl::StartsWith(option, "--") &&
         absl::StrContains(option, 'c');
}

}  // namespace

bool IsShell(absl::string_view program) {
  const size_t slash = program.rfind('/');
  const absl::string_view name =
      slash == program.npos ? program : program.substr(slash + 1);
  return std::find(std::begin(kShells), std::end(kShells), name) !=
         std::end(kShells);
}

std::optional<std::string> ShellLine(const std::vector<std::string>& argv) {
  if (argv.empty() || !IsShell(argv.front())) {
    return std::nullopt;
  }
  bool takes_line = false;
  for (size_t i = 1; i < argv.size(); ++i) {
    if (takes_line && !absl::StartsWith(argv[i], "-")) {
      return argv[i];
    }
    takes_line = takes_line || TakesLine(argv[i]);
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> PlainWords(absl::string_view line) {
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  if (text.empty() || !std::all_of(text.begin(), text.end(), IsPlain)) {
    return std::nullopt;
  }
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

absl::string_view WithoutChangeTo(const std::string& directory,
                                  absl::string_view line) {
  absl::string_view rest = line;
  // Without quotes, a directory with a space is two words, and some shells
  // change to the first one.
  const bool is_word =
      !absl::StrContains(directory, ' ') && PlainWords(directory).has_value();
  if (absl::ConsumePrefix(&rest, absl::StrCat("cd '", directory, "' && ")) ||
      (is_word &&
       absl::ConsumePrefix(&rest, absl::StrCat("cd ", directory, " && ")))) {
    return rest;
  }
  return line;
}

std::vector<std::string> PossiblePrograms(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(kSeparators), absl::SkipEmpty());
}

}  // namespace bridge
