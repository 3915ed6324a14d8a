// Knows whether the disk accepts the files that a sandbox writes.
//
// Used on the event loop's thread only.

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

  // The last attempt of `writer` failed. It retries until it calls Succeed().
  // `what` names the object, for people.
  void Fail(const void* writer, absl::string_view what,
            const absl::Status& why);
  void Succeed(const void* writer);

  // Returns one of the failures, or an empty text if there is none.
  std::string failure() const;

 private:
  const std::function<void()> changed_;
  std::map<const void*, std::string> failures_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_STORAGE_STATUS_H_
