#include "server/screen/emulator/answers.h"

namespace screen {

void Answers::Add(uint64_t offset, absl::string_view bytes) {
  answers_.push_back({offset, std::string(bytes)});
  size_ += bytes.size();
  while (size_ > kMaxBytes) {
    size_ -= answers_.front().bytes.size();
    answers_.pop_front();
  }
}

std::string Answers::From(uint64_t offset) const {
  std::string all;
  for (const Answer& answer : answers_) {
    if (answer.offset >= offset) {
      all += answer.bytes;
    }
  }
  return all;
}

}  // namespace screen
