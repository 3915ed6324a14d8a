#include "sandbox/base/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {
namespace {

constexpr size_t kMaxSize = size_t{8} << 20;

absl::Status Write(int fd, absl::string_view data, const std::string& path) {
  const ssize_t written = ::write(fd, data.data(), data.size());
  if (written != static_cast<ssize_t>(data.size())) {
    return absl::ErrnoToStatus(written < 0 ? errno : EIO,
                               absl::StrCat("write ", path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  std::string text;
  for (;;) {
    const size_t size = text.size();
    text.resize(size + 4096);
    const ssize_t got = ::read(file.get(), text.data() + size, 4096);
    text.resize(size + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got == 0) {
      return text;
    }
    if (got < 0 && errno != EINTR) {
      return absl::ErrnoToStatus(errno, absl::StrCat("read ", path));
    }
    if (text.size() > kMaxSize) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is above 8 MiB"));
    }
  }
}

absl::Status WriteSmallFile(const std::string& path, absl::string_view data) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  return Write(file.get(), data, path);
}

absl::Status ReplaceFile(const std::string& path, absl::string_view data,
                         Durability durability) {
  const std::string next = path + ".new";
  UniqueFd file(::open(next.c_str(),
                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                       0600));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("create ", next));
  }
  RETURN_IF_ERROR(Write(file.get(), data, next));
  if (durability == Durability::kMachine && ::fsync(file.get()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("fsync ", next));
  }
  if (::rename(next.c_str(), path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("rename ", next));
  }
  if (durability == Durability::kMachine) {
    const std::string parent = path.substr(0, path.rfind('/'));
    UniqueFd directory(
        ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid() || ::fsync(directory.get()) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("fsync ", parent));
    }
  }
  return absl::OkStatus();
}

}  // namespace sandbox
