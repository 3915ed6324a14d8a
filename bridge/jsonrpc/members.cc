#include "bridge/jsonrpc/members.h"

#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "bridge/jsonrpc/json.h"

namespace bridge {
namespace {

constexpr absl::string_view kSpace = " \t\r\n";
constexpr auto kEnd = absl::string_view::npos;

// Reads a text from front to back. When a method returns false, or nothing, the
// text is not what it expects, and the scanner must not be used any more.
class Scanner {
 public:
  explicit Scanner(absl::string_view text) : text_(text) {}

  // Skips white space and returns the next byte without taking it; 0 at the
  // end.
  char Peek() {
    position_ = text_.find_first_not_of(kSpace, position_);
    if (position_ == kEnd) {
      position_ = text_.size();
      return 0;
    }
    return text_[position_];
  }

  bool Take(char expected) {
    if (Peek() != expected) {
      return false;
    }
    ++position_;
    return true;
  }

  // Returns a string with its quotes.
  std::optional<absl::string_view> String() {
    if (Peek() != '"') {
      return std::nullopt;
    }
    const size_t begin = position_;
    if (!SkipString()) {
      return std::nullopt;
    }
    return text_.substr(begin, position_ - begin);
  }

  std::optional<absl::string_view> Value() {
    const char first = Peek();
    const size_t begin = position_;
    bool skipped = false;
    if (first == '"') {
      skipped = SkipString();
    } else if (first == '{' || first == '[') {
      skipped = SkipNested();
    } else {
      skipped = SkipScalar();
    }
    if (!skipped) {
      return std::nullopt;
    }
    return text_.substr(begin, position_ - begin);
  }

 private:
  // Moves from an opening quote to behind the closing one.
  bool SkipString() {
    for (size_t at = position_ + 1;;) {
      at = text_.find_first_of("\"\\", at);
      if (at == kEnd) {
        return false;
      }
      if (text_[at] == '"') {
        position_ = at + 1;
        return true;
      }
      at += 2;
    }
  }

  // Moves from an opening bracket to behind the matching one.
  bool SkipNested() {
    size_t depth = 0;
    do {
      position_ = text_.find_first_of("\"{}[]", position_);
      if (position_ == kEnd) {
        return false;
      }
      const char c = text_[position_];
      if (c == '"') {
        if (!SkipString()) {
          return false;
        }
        continue;
      }
      depth += (c == '{' || c == '[') ? 1 : -1;
      ++position_;
    } while (depth > 0);
    return true;
  }

  bool SkipScalar() {
    const size_t begin = position_;
    const size_t end = text_.find_first_of(",}] \t\r\n", begin);
    position_ = end == kEnd ? text_.size() : end;
    return position_ > begin;
  }

  const absl::string_view text_;
  size_t position_ = 0;
};

std::optional<std::string> DecodeName(absl::string_view quoted) {
  if (!absl::StrContains(quoted, '\\')) {
    return static_cast<std::string>(quoted.substr(1, quoted.size() - 2));
  }
  std::optional<Json> name = ParseJson(quoted);
  if (!name.has_value()) {
    return std::nullopt;
  }
  return name->get<std::string>();
}

std::optional<Member> ScanMember(Scanner& scanner) {
  const std::optional<absl::string_view> quoted = scanner.String();
  if (!quoted.has_value() || !scanner.Take(':')) {
    return std::nullopt;
  }
  std::optional<std::string> name = DecodeName(*quoted);
  const std::optional<absl::string_view> value = scanner.Value();
  if (!name.has_value() || !value.has_value()) {
    return std::nullopt;
  }
  return Member{*std::move(name), *value};
}

}  // namespace

std::optional<std::vector<Member>> ScanObject(absl::string_view text) {
  Scanner scanner(absl::StripPrefix(text, kByteOrderMark));
  if (!scanner.Take('{')) {
    return std::nullopt;
  }
  std::vector<Member> members;
  if (scanner.Peek() == '}') {
    scanner.Take('}');
  } else {
    do {
      std::optional<Member> member = ScanMember(scanner);
      if (!member.has_value()) {
        return std::nullopt;
      }
      members.push_back(*std::move(member));
    } while (scanner.Take(','));
    if (!scanner.Take('}')) {
      return std::nullopt;
    }
  }
  if (scanner.Peek() != 0) {
    return std::nullopt;
  }
  return members;
}

std::optional<std::vector<absl::string_view>> ScanArray(
    absl::string_view text) {
  Scanner scanner(text);
  if (!scanner.Take('[')) {
    return std::nullopt;
  }
  std::vector<absl::string_view> elements;
  if (!scanner.Take(']')) {
    do {
      const std::optional<absl::string_view> element = scanner.Value();
      if (!element.has_value()) {
        return std::nullopt;
      }
      elements.push_back(*element);
    } while (scanner.Take(','));
    if (!scanner.Take(']')) {
      return std::nullopt;
    }
  }
  if (scanner.Peek() != 0) {
    return std::nullopt;
  }
  return elements;
}

std::string ReplacePart(absl::string_view text, absl::string_view part,
                        absl::string_view replacement) {
  const size_t begin = part.data() - text.data();
  return absl::StrCat(text.substr(0, begin), replacement,
                      text.substr(begin + part.size()));
}

std::optional<absl::string_view> FindMember(const std::vector<Member>& members,
                                            absl::string_view name) {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->name == name) {
      return member->value;
    }
  }
  return std::nullopt;
}

}  // namespace bridge
