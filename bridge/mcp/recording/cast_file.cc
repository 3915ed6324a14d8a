#include "bridge/mcp/recording/cast_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using sandbox::UniqueFd;

constexpr mode_t kDirectoryMode = 0777;
constexpr mode_t kFileMode = 0666;

struct NodeError {
  const char* code;
  const char* text;
};

NodeError ToNodeError(int error) {
  static const auto* const errors = new std::map<int, NodeError>{
      {EACCES, {"EACCES", "permission denied"}},
      {EEXIST, {"EEXIST", "file already exists"}},
      {ELOOP, {"ELOOP", "too many symbolic links encountered"}},
      {ENAMETOOLONG, {"ENAMETOOLONG", "name too long"}},
      {ENOENT, {"ENOENT", "no such file or directory"}},
      {ENOSPC, {"ENOSPC", "no space left on device"}},
      {ENOTDIR, {"ENOTDIR", "not a directory"}},
      {EPERM, {"EPERM", "operation not permitted"}},
      {EROFS, {"EROFS", "read-only file system"}},
  };
  const auto found = errors->find(error);
  return found == errors->end() ? NodeError{"EIO", "i/o error"} : found->second;
}

absl::Status Failed(int error, const char* call, const std::string& path) {
  const NodeError known = ToNodeError(error);
  return absl::UnavailableError(
      absl::StrCat(known.code, ": ", known.text, ", ", call, " '", path, "'"));
}

absl::Status WriteAll(const UniqueFd& file, absl::string_view bytes,
                      const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return Failed(errno, "write", path);
    }
    bytes.remove_prefix(written > 0 ? written : 0);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeDirectories(const std::string& directory) {
  for (size_t end = directory.find('/', 1); end != std::string::npos;
       end = directory.find('/', end + 1)) {
    const std::string part = directory.substr(0, end);
    if (::mkdir(part.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      return Failed(errno, "mkdir", directory);
    }
  }
  if (::mkdir(directory.c_str(), kDirectoryMode) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  struct stat found = {};
  if (error == EEXIST && ::stat(directory.c_str(), &found) == 0 &&
      S_ISDIR(found.st_mode)) {
    return absl::OkStatus();
  }
  return Failed(error, "mkdir", directory);
}

absl::StatusOr<CastFile> CastFile::Create(const std::string& path,
                                          uint32_t columns, uint32_t rows,
                                          int64_t unix_seconds) {
  UniqueFd file(::open(path.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                       kFileMode));
  if (!file.valid()) {
    return Failed(errno, "open", path);
  }
  CastFile cast(path, std::move(file));
  cast.Append(CastLines::Header(columns, rows, unix_seconds));
  RETURN_IF_ERROR(cast.failure_);
  return cast;
}

void CastFile::Append(const std::string& line) {
  const absl::Status written = WriteAll(file_, line, path_);
  failure_.Update(written);
  bytes_ += written.ok() ? line.size() : 0;
}

void CastFile::AddOutput(double seconds, absl::string_view output) {
  Append(lines_.Output(seconds, output));
}

void CastFile::AddResize(double seconds, uint32_t columns, uint32_t rows) {
  Append(lines_.Resize(seconds, columns, rows));
}

absl::Status CastFile::Save(const std::string& path) {
  RETURN_IF_ERROR(failure_);
  if (::rename(path_.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  if (errno != EXDEV) {
    return Failed(errno, "rename", path);
  }
  std::error_code error;
  std::filesystem::copy_file(
      path_, path, std::filesystem::copy_options::overwrite_existing, error);
  if (error) {
    return Failed(error.value(), "copyfile", path);
  }
  Discard();
  return absl::OkStatus();
}

void CastFile::Discard() { ::unlink(path_.c_str()); }

absl::Status WriteWhole(const std::string& path, const std::string& content) {
  const std::string part = absl::StrCat(path, ".part");
  const UniqueFd file(::open(
      part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
  if (!file.valid()) {
    return Failed(errno, "open", path);
  }
  absl::Status written = WriteAll(file, content, path);
  if (written.ok() && ::rename(part.c_str(), path.c_str()) != 0) {
    written = Failed(errno, "rename", path);
  }
  if (!written.ok()) {
    ::unlink(part.c_str());
  }
  return written;
}

}  // namespace bridge
