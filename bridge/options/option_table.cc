#include "bridge/options/option_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr size_t kHelpColumn = 28;

}  // namespace

absl::Status UsageError(absl::string_view message) {
  return absl::InvalidArgumentError(message);
}

OptionTable::OptionTable(std::string program, std::string synopsis,
                         std::string summary)
    : program_(std::move(program)),
      synopsis_(std::move(synopsis)),
      summary_(std::move(summary)) {}

void OptionTable::Flag(char short_name, std::string name, std::string help,
                       bool& target) {
  Value(short_name, std::move(name), "", std::move(help),
        [&target](absl::string_view) {
          target = true;
          return absl::OkStatus();
        });
}

void OptionTable::Value(char short_name, std::string name,
                        std::string placeholder, std::string help, Setter set) {
  options_.push_back({short_name, std::move(name), std::move(placeholder),
                      std::move(help), std::move(set)});
}

void OptionTable::Text(char short_name, std::string name,
                       std::string placeholder, std::string help,
                       std::string& target) {
  Value(short_name, std::move(name), std::move(placeholder), std::move(help),
        [&target](absl::string_view value) {
          target = static_cast<std::string>(value);
          return absl::OkStatus();
        });
}

const OptionTable::Option* OptionTable::FindLong(absl::string_view name) const {
  for (const Option& option : options_) {
    if (option.name == name) {
      return &option;
    }
  }
  return nullptr;
}

const OptionTable::Option* OptionTable::FindShort(char name) const {
  for (const Option& option : options_) {
    if (option.short_name == name) {
      return &option;
    }
  }
  return nullptr;
}

// Parses the words in one pass.
class OptionTable::Parser {
 public:
  Parser(const OptionTable& table, const std::vector<std::string>& words)
      : table_(table), words_(words) {}

  absl::StatusOr<Arguments> Parse() {
    while (next_ < words_.size() && arguments_.command.empty()) {
      const std::string& word = words_[next_++];
      if (word == "--") {
        TakeCommand(next_);
      } else if (word == "--help" || word == "-h") {
        arguments_.help = true;
        return arguments_;
      } else if (absl::StartsWith(word, "--")) {
        RETURN_IF_ERROR(Long(absl::string_view(word).substr(2)));
      } else if (word.size() > 1 && word[0] == '-') {
        RETURN_IF_ERROR(Short(absl::string_view(word).substr(1)));
      } else if (table_.takes_command_ &&
                 arguments_.positionals.size() == table_.max_positionals_) {
        TakeCommand(next_ - 1);
      } else {
        arguments_.positionals.push_back(word);
      }
    }
    return arguments_;
  }

 private:
  void TakeCommand(size_t begin) {
    auto& target =
        table_.takes_command_ ? arguments_.command : arguments_.positionals;
    target.insert(target.end(), words_.begin() + static_cast<ptrdiff_t>(begin),
                  words_.end());
    next_ = words_.size();
  }

  absl::Status Long(absl::string_view text) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    const Option* option = table_.FindLong(parts.first);
    const std::string shown = absl::StrCat("--", parts.first);
    if (option == nullptr) {
      return Unknown(shown);
    }
    if (!absl::StrContains(text, "=")) {
      return Apply(*option, shown, std::nullopt);
    }
    if (option->placeholder.empty()) {
      return UsageError(absl::StrCat(shown, " takes no value, but \"",
                                     parts.second, "\" is given"));
    }
    return Apply(*option, shown, parts.second);
  }

  absl::Status Short(absl::string_view letters) {
    while (!letters.empty()) {
      const Option* option = table_.FindShort(letters[0]);
      const std::string shown = absl::StrCat("-", letters.substr(0, 1));
      if (option == nullptr) {
        return Unknown(shown);
      }
      letters.remove_prefix(1);
      if (!option->placeholder.empty() && !letters.empty()) {
        return Apply(*option, shown, letters);
      }
      RETURN_IF_ERROR(Apply(*option, shown, std::nullopt));
    }
    return absl::OkStatus();
  }

  // Without a value, an option that takes one takes the next word.
  absl::Status Apply(const Option& option, const std::string& shown,
                     std::optional<absl::string_view> value) {
    if (!option.placeholder.empty() && !value.has_value()) {
      if (next_ == words_.size()) {
        return UsageError(
            absl::StrCat(shown, " takes a value: ", option.placeholder));
      }
      value = words_[next_++];
    }
    const absl::Status status = option.set(value.value_or(""));
    return status.ok()
               ? status
               : UsageError(absl::StrCat(shown, " \"", value.value_or(""),
                                         "\": ", status.message()));
  }

  absl::Status Unknown(const std::string& shown) const {
    return UsageError(absl::StrCat("unknown option ", shown, "; see ",
                                   table_.program_, " --help"));
  }

  const OptionTable& table_;
  const std::vector<std::string>& words_;
  size_t next_ = 0;
  Arguments arguments_;
};

absl::StatusOr<Arguments> OptionTable::Parse(
    const std::vector<std::string>& words) const {
  ASSIGN_OR_RETURN(Arguments arguments, Parser(*this, words).Parse());
  const size_t count = arguments.positionals.size();
  if (!arguments.help &&
      (count < min_positionals_ || count > max_positionals_)) {
    return UsageError(absl::StrCat("usage: ", program_, " ", synopsis_));
  }
  return arguments;
}

std::string OptionTable::Help() const {
  std::string text = absl::StrCat("Usage: ", program_, " ", synopsis_, "\n\n",
                                  summary_, "\n\nOptions:\n");
  auto line = [&text](std::string left, absl::string_view help) {
    const std::string indent =
        absl::StrCat("\n", std::string(kHelpColumn, ' '));
    if (left.size() + 2 > kHelpColumn) {
      left += indent;
    } else {
      left.resize(kHelpColumn, ' ');
    }
    absl::StrAppend(&text, left,
                    absl::StrJoin(absl::StrSplit(help, '\n'), indent), "\n");
  };
  for (const Option& option : options_) {
    line(absl::StrCat(
             "  ",
             option.short_name == 0
                 ? "    "
                 : absl::StrCat("-", std::string(1, option.short_name), ", "),
             "--", option.name, option.placeholder.empty() ? "" : " ",
             option.placeholder),
         option.help);
  }
  line("  -h, --help", "Show this text.");
  return text;
}

}  // namespace bridge
