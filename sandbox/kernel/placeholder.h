// An empty directory or file of a workspace at a path where nothing may be
// made: a mount can keep commands away only from what exists.
//
// Placeholders have their sticky bit set, which means nothing for an empty
// directory or a file, and by which other sandboxes recognize them. Several
// sandboxes may need the same one; each holds a shared lock (flock(2)) on it,
// and the last one removes it.

#ifndef SANDBOX_KERNEL_PLACEHOLDER_H_
#define SANDBOX_KERNEL_PLACEHOLDER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

class Placeholder {
 public:
  // Makes `name` in `directory` with the rights and the ids of the host's user
  // `owner`: a file with this content, of two bytes at most, or a directory if
  // `content` is null. Fails with AlreadyExists if there is something, and with
  // Aborted if another process moved a directory to `name` meanwhile.
  static absl::StatusOr<Placeholder> Make(int directory,
                                          const std::string& name,
                                          const char* content, uint32_t owner);

  // Returns the placeholder `name` in `directory` that another sandbox made,
  // perhaps one that could not remove it; nullopt if there is none.
  static std::optional<Placeholder> Find(int directory,
                                         const std::string& name);

  Placeholder(Placeholder&&) noexcept = default;
  Placeholder& operator=(Placeholder&&) = delete;
  // Removes it, unless another sandbox uses it or the host has filled it.
  // Nothing untrusted may run in the sandbox any more.
  ~Placeholder();

  // For a process with the sandbox's mounts, and before the destructor runs
  // there: takes away the mount that covers the placeholder, which the kernel
  // does not remove under it. Changes the working directory.
  void Uncover() const;

  // True if its name still leads to it.
  bool IsInPlace() const { return IsAt(directory_.get(), name_); }
  // True if `name` in `directory` leads to it, or, if `name` is empty, the
  // descriptor `directory` itself.
  bool IsAt(int directory, const std::string& name) const;

 private:
  Placeholder(UniqueFd directory, std::string name, UniqueFd file);

  static absl::StatusOr<Placeholder> Open(int directory,
                                          const std::string& name);
  // True if nothing tells it from a placeholder.
  bool IsEmpty() const;

  UniqueFd directory_;
  std::string name_;
  // Holds the lock. Invalid if the object was moved from.
  UniqueFd file_;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_PLACEHOLDER_H_
