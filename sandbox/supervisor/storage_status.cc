#include "sandbox/supervisor/storage_status.h"

#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"

namespace sandbox {

void StorageStatus::Fail(const void* writer, absl::string_view what,
                         const absl::Status& why) {
  const bool first = failures_.empty();
  const auto [failure, added] =
      failures_.try_emplace(writer, absl::StrCat(what, ": ", why.message()));
  if (added) {
    LOG(ERROR) << "storage: " << failure->second;
  }
  if (first) {
    changed_();
  }
}

void StorageStatus::Succeed(const void* writer) {
  if (failures_.erase(writer) != 0 && failures_.empty()) {
    LOG(INFO) << "storage: all is written again";
    changed_();
  }
}

std::string StorageStatus::failure() const {
  return failures_.empty() ? std::string() : failures_.begin()->second;
}

}  // namespace sandbox
