// A directory whose disk hangs when a test asks for it.

#ifndef TESTS_HANGING_FILESYSTEM_HANGING_DIRECTORY_H_
#define TESTS_HANGING_FILESYSTEM_HANGING_DIRECTORY_H_

#include <memory>
#include <string>

#include "tests/process.h"

namespace tests {

// Not thread-safe.
class HangingDirectory {
 public:
  // Covers `path`, an existing directory, with a mirror of it.
  explicit HangingDirectory(const std::string& path);
  // Releases everything and uncovers the directory.
  ~HangingDirectory();

  HangingDirectory(const HangingDirectory&) = delete;
  HangingDirectory& operator=(const HangingDirectory&) = delete;

  // False if this host allows no FUSE; then no other method may be called.
  bool is_mounted() const { return filesystem_ != nullptr; }

  // From now on, operations on and below `below` wait, as those on and below
  // the paths of earlier calls. It begins with "/", the directory itself.
  void Hang(const std::string& below);
  // All operations go on.
  void Release();

  // The number of operations that wait.
  int CountWaiting();
  // Waits until so many operations wait.
  void AwaitWaiting(int count);

 private:
  std::string Ask(const std::string& command);

  const std::string path_;
  std::unique_ptr<Process> filesystem_;
};

}  // namespace tests

#endif  // TESTS_HANGING_FILESYSTEM_HANGING_DIRECTORY_H_
