#include "sandbox/egress/answer_head.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/egress/http_fields.h"

namespace egress {
namespace {

constexpr int kSwitchingProtocols = 101;
constexpr int kFirstFinal = 200;
constexpr absl::string_view kVersion = "HTTP/1.";

struct Answer {
  absl::string_view line;
  int status = 0;
  HttpFields fields;
};

bool MayBeginAnAnswer(absl::string_view bytes) {
  const size_t size = std::min(bytes.size(), kVersion.size());
  return bytes.substr(0, size) == kVersion.substr(0, size);
}

// Returns the status of "HTTP/1.1 200", with or without a space and a phrase.
// Returns 0 for anything else.
int StatusOf(absl::string_view line) {
  constexpr size_t kBegin = kVersion.size() + 2;
  constexpr size_t kEnd = kBegin + 3;
  int status = 0;
  if (line.size() < kEnd || line[kBegin - 1] != ' ' ||
      (line.size() > kEnd && line[kEnd] != ' ') ||
      !absl::SimpleAtoi(line.substr(kBegin, kEnd - kBegin), &status)) {
    return 0;
  }
  return status;
}

std::optional<Answer> Parse(absl::string_view head) {
  Answer answer;
  if (!ReadHttpHead(head, &answer.line, &answer.fields)) {
    return std::nullopt;
  }
  answer.status = StatusOf(answer.line);
  return answer.status >= 100 ? std::make_optional(std::move(answer))
                              : std::nullopt;
}

std::string MakeLast(Answer answer) {
  HttpFields& fields = answer.fields;
  fields.erase(std::remove_if(fields.begin(), fields.end(),
                              [](const auto& field) {
                                return ConcernsConnection(field.first);
                              }),
               fields.end());
  fields.emplace_back("Connection", "close");
  return MakeHttpHead(answer.line, fields);
}

}  // namespace

void AnswerHead::Filter(absl::string_view bytes, std::string* out) {
  absl::StrAppend(&held_, bytes);
  while (state_ == State::kFiltering) {
    if (!MayBeginAnAnswer(held_)) {
      PassOn(out);
      return;
    }
    const size_t end = absl::string_view(held_).find(kHttpHeadEnd, searched_);
    if (end != absl::string_view::npos && end <= kMaxHttpHead) {
      Take(end + kHttpHeadEnd.size(), out);
      continue;
    }
    if (held_.size() >= kMaxHttpHead + kHttpHeadEnd.size()) {
      PassOn(out);
    }
    searched_ = held_.size() - std::min(held_.size(), kHttpHeadEnd.size() - 1);
    return;
  }
}

void AnswerHead::Finish(std::string* out) { PassOn(out); }

void AnswerHead::Take(size_t size, std::string* out) {
  const absl::string_view head(held_.data(), size - kHttpHeadEnd.size());
  std::optional<Answer> answer = Parse(head);
  if (!answer.has_value()) {
    PassOn(out);
    return;
  }
  status_ = answer->status;
  const bool is_final = status_ >= kFirstFinal;
  if (is_final && !Lists(answer->fields, "Connection", "close")) {
    absl::StrAppend(out, MakeLast(*std::move(answer)));
  } else {
    out->append(held_, 0, size);
  }
  held_.erase(0, size);
  searched_ = 0;
  if (is_final || status_ == kSwitchingProtocols) {
    PassOn(out);
  }
}

void AnswerHead::PassOn(std::string* out) {
  absl::StrAppend(out, held_);
  held_ = std::string();
  state_ = State::kPassing;
}

}  // namespace egress
