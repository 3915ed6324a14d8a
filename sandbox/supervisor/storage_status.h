// Whether what a sandbox writes to the disk can be written.
//
// For the event loop's thread.

#ifndef SANDBOX_SUPERVISOR_STORAGE_STATUS_H_
#define SANDBOX_SUPERVISOR_STORAGE_STATUS_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sandbox {

class StorageStatus {
 public:
  // `changed` is called when writing begins to fail and when everything that
  // failed was written or is no longer wanted.
  explicit StorageStatus(std::function<void()> changed)
      : changed_(std::move(changed)) {}

  // What `writer` tried last failed. It tries again until Succeed(). `what` is
  // for people.
  void Fail(const void* writer, absl::string_view what,
            const absl::Status& why);
  void Succeed(const void* writer);

  // One of what still fails; empty: nothing does.
  std::string failure() const;

 private:
  const std::function<void()> changed_;
  std::map<const void*, std::string> failures_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_STORAGE_STATUS_H_
