#include "sandbox/egress/http_fields.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace egress {
namespace {

bool ReadField(absl::string_view line, HttpFields* fields) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos || !IsHttpToken(line.substr(0, colon))) {
    return false;
  }
  fields->emplace_back(
      std::string(line.substr(0, colon)),
      std::string(absl::StripAsciiWhitespace(line.substr(colon + 1))));
  return true;
}

}  // namespace

bool IsHttpToken(absl::string_view text) {
  constexpr absl::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains(kMarks, c);
  });
}

bool IsHttpControl(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

bool ReadHttpHead(absl::string_view head, absl::string_view* first,
                  HttpFields* fields) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(head, kHttpLineEnd);
  for (const absl::string_view line : lines) {
    if (std::any_of(line.begin(), line.end(), IsHttpControl)) {
      return false;
    }
  }
  *first = lines[0];
  return std::all_of(
      lines.begin() + 1, lines.end(),
      [&](absl::string_view line) { return ReadField(line, fields); });
}

std::vector<absl::string_view> ValuesOf(const HttpFields& fields,
                                        absl::string_view name) {
  std::vector<absl::string_view> values;
  for (const auto& [field, value] : fields) {
    if (absl::EqualsIgnoreCase(field, name)) {
      values.emplace_back(value);
    }
  }
  return values;
}

bool Lists(const HttpFields& fields, absl::string_view name,
           absl::string_view element) {
  for (const absl::string_view value : ValuesOf(fields, name)) {
    for (const absl::string_view part : absl::StrSplit(value, ',')) {
      if (absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(part), element)) {
        return true;
      }
    }
  }
  return false;
}

bool ConcernsConnection(absl::string_view name) {
  return absl::EqualsIgnoreCase(name, "Connection") ||
         absl::EqualsIgnoreCase(name, "Keep-Alive") ||
         absl::EqualsIgnoreCase(name, "Proxy-Connection");
}

std::string MakeHttpHead(absl::string_view first, const HttpFields& fields) {
  std::string head = absl::StrCat(first, kHttpLineEnd);
  for (const auto& [name, value] : fields) {
    absl::StrAppend(&head, name, ": ", value, kHttpLineEnd);
  }
  return absl::StrCat(head, kHttpLineEnd);
}

}  // namespace egress
