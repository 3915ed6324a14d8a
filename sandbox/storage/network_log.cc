#include "sandbox/storage/network_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

using ::corral::egress::v1::Event;

constexpr char kName[] = "/network.log";
constexpr char kOld[] = ".old";

absl::StatusOr<UniqueFd> Open(const std::string& path) {
  UniqueFd file(::open(
      path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  return file;
}

// Adds up to `most` events with numbers above `after`. Ignores everything from
// a damaged event on.
void Parse(absl::string_view content, uint64_t after, size_t most,
           std::vector<Event>* events) {
  while (events->size() < most && content.size() > sizeof(uint32_t)) {
    uint32_t size;
    std::memcpy(&size, content.data(), sizeof(size));
    content.remove_prefix(sizeof(size));
    Event event;
    if (size > content.size() ||
        !event.ParseFromArray(content.data(), static_cast<int>(size))) {
      return;
    }
    content.remove_prefix(size);
    // The log may have been renamed between the two reads: then both contents
    // hold the same events.
    const uint64_t last = events->empty() ? after : events->back().number();
    if (event.number() > last) {
      events->push_back(std::move(event));
    }
  }
}

absl::StatusOr<std::string> ReadIfPresent(const std::string& path) {
  absl::StatusOr<std::string> content = ReadSmallFile(path);
  return absl::IsNotFound(content.status()) ? std::string()
                                            : std::move(content);
}

}  // namespace

absl::StatusOr<NetworkLog> NetworkLog::Create(const std::string& directory) {
  std::string path = directory + kName;
  ASSIGN_OR_RETURN(UniqueFd file, Open(path));
  return NetworkLog(std::move(path), std::move(file));
}

absl::Status NetworkLog::Append(Event event) {
  event.set_number(next_number_++);
  const std::string message = event.SerializeAsString();
  const auto size = static_cast<uint32_t>(message.size());
  std::string record(reinterpret_cast<const char*>(&size), sizeof(size));
  record += message;
  if (size_ + record.size() > kMaxFile) {
    RETURN_IF_ERROR(Rotate());
  }
  const ssize_t written = ::write(file_.get(), record.data(), record.size());
  if (written != static_cast<ssize_t>(record.size())) {
    const int error = written < 0 ? errno : ENOSPC;
    // An incomplete event would hide those after it. If it stays, the next
    // event begins a new file.
    if (written > 0 &&
        ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
      size_ = kMaxFile;
    }
    return absl::ErrnoToStatus(error, absl::StrCat("write ", path_));
  }
  size_ += record.size();
  return absl::OkStatus();
}

absl::Status NetworkLog::Rotate() {
  if (::rename(path_.c_str(), (path_ + kOld).c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("rename ", path_));
  }
  ASSIGN_OR_RETURN(file_, Open(path_));
  size_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Event>> ReadNetworkLog(const std::string& directory,
                                                  uint64_t after, size_t most) {
  const std::string path = directory + kName;
  ASSIGN_OR_RETURN(const std::string old, ReadIfPresent(path + kOld));
  ASSIGN_OR_RETURN(const std::string present, ReadIfPresent(path));
  std::vector<Event> events;
  Parse(old, after, most, &events);
  Parse(present, after, most, &events);
  return events;
}

}  // namespace sandbox
