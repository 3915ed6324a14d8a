#include "server/net/open_connections.h"

#include <sys/stat.h>
#include <sys/types.h>

#include <iterator>

namespace server {
namespace {

// Returns 0 if `fd` is closed.
ino_t InodeOf(int fd) {
  struct stat status = {};
  return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

bool OpenConnections::Add(int fd) {
  // The kernel gave `fd` a number that was used before, so the former
  // connection with this number is closed.
  inodes_.erase(fd);
  if (inodes_.size() >= most_) {
    ForgetClosed();
  }
  if (inodes_.size() >= most_) {
    return false;
  }
  inodes_.emplace(fd, InodeOf(fd));
  return true;
}

void OpenConnections::ForgetClosed() {
  for (auto entry = inodes_.begin(); entry != inodes_.end();) {
    const bool is_open = InodeOf(entry->first) == entry->second;
    entry = is_open ? std::next(entry) : inodes_.erase(entry);
  }
}

}  // namespace server
