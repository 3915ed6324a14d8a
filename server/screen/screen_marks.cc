#include "server/screen/screen_marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/base/log.h"
#include "sandbox/base/unique_fd.h"

namespace server {
namespace {

constexpr char kClear[] = "clear ";
constexpr char kAnswered[] = "answered";
constexpr size_t kMaxLines = 4 * ScreenMarks::kMaxClears;

std::string ClearLine(uint64_t offset) {
  return absl::StrCat(kClear, offset, "\n");
}

}  // namespace

ScreenMarks::ScreenMarks(std::string path, const std::string& of)
    : path_(std::move(path)), first_line_(absl::StrCat("of ", of)) {
  Read();
}

void ScreenMarks::Read() {
  std::ifstream file(path_);
  std::string line;
  // A last line without its newline was not written completely.
  if (!std::getline(file, line) || file.eof() || line != first_line_) {
    return;
  }
  for (lines_ = 1; std::getline(file, line) && !file.eof(); ++lines_) {
    absl::string_view text = line;
    uint64_t offset = 0;
    if (text == kAnswered) {
      answered_ = true;
    } else if (absl::ConsumePrefix(&text, kClear) &&
               absl::SimpleAtoi(text, &offset) &&
               (clears_.empty() || clears_.back() <= offset)) {
      clears_.push_back(offset);
    }
  }
  if (!file.fail()) {
    lines_ = 0;  // nothing can be appended to a torn line
  }
  if (clears_.size() > kMaxClears) {
    clears_.erase(clears_.begin(), clears_.end() - kMaxClears);
  }
}

void ScreenMarks::AddClear(uint64_t offset) {
  clears_.push_back(offset);
  if (clears_.size() > kMaxClears) {
    clears_.erase(clears_.begin());
  }
  Append(ClearLine(offset));
}

void ScreenMarks::SetAnswered() {
  if (!answered_) {
    answered_ = true;
    Append(absl::StrCat(kAnswered, "\n"));
  }
}

void ScreenMarks::Append(const std::string& line) {
  if (lines_ > 0 && lines_ < kMaxLines) {
    ++lines_;
    Write(line, O_APPEND);
    return;
  }
  std::string text = absl::StrCat(first_line_, "\n");
  lines_ = 1 + clears_.size();
  if (answered_) {
    absl::StrAppend(&text, kAnswered, "\n");
    ++lines_;
  }
  for (const uint64_t offset : clears_) {
    text += ClearLine(offset);
  }
  Write(text, O_TRUNC);
}

void ScreenMarks::Remove() { ::unlink(path_.c_str()); }

void ScreenMarks::Write(const std::string& text, int flags) {
  ::mkdir(path_.substr(0, path_.rfind('/')).c_str(), 0700);
  const sandbox::UniqueFd file(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags,
             0600));
  if (!file.valid() || ::write(file.get(), text.data(), text.size()) !=
                           static_cast<ssize_t>(text.size())) {
    LOG(WARNING) << "cannot write " << path_ << ": " << std::strerror(errno);
    lines_ = 0;
  }
}

}  // namespace server
