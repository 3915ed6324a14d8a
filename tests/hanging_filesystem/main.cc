// A file system that mirrors the directory that it covers, and whose operations
// below a path hang when it is asked for.
//
//   hanging_filesystem DIRECTORY
//
// Covers DIRECTORY with a mirror of it. Reads commands, one a line, and answers
// each with a line:
//
//   hang PATH   from now on, operations on and below PATH (absolute in the file
//               system) wait. "ok"
//   release     all operations go on. "ok"
//   waiting     the number of operations that wait
//
// At the end of its input it takes the file system away and ends; operations
// that still wait then fail.

#define FUSE_USE_VERSION 312

#include <dirent.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "tests/hanging_filesystem/gate.h"

namespace {

using tests::Gate;

// The directory under the mirror.
int root = -1;

Gate& TheGate() {
  static auto* const gate = new Gate();
  return *gate;
}

// Waits while `path` hangs. Returns it relative to the root. Without a path the
// file has no name any more, and does not hang.
const char* Pass(const char* path) {
  if (path == nullptr) {
    return "";
  }
  TheGate().Pass(path);
  return path[1] == '\0' ? "." : path + 1;
}

int Result(int result) { return result < 0 ? -errno : result; }
int Descriptor(const fuse_file_info* file) {
  return static_cast<int>(file->fh);
}

int OpenInto(const char* path, int flags, mode_t mode, fuse_file_info* file) {
  const int fd = ::openat(root, Pass(path), flags | O_CLOEXEC, mode);
  file->fh = static_cast<uint64_t>(fd);
  return fd < 0 ? -errno : 0;
}

void* Init(fuse_conn_info* connection, fuse_config* config) {
  // Hanging requests must leave room for those of other files.
  connection->max_background = 1000;
  config->nullpath_ok = 1;
  config->hard_remove = 1;
  config->use_ino = 1;
  return nullptr;
}

// The operations on names.
void AddNames(fuse_operations& operations) {
  operations.getattr = [](const char* path, struct stat* info,
                          fuse_file_info* file) {
    const char* name = Pass(path);
    return Result(file != nullptr
                      ? ::fstat(Descriptor(file), info)
                      : ::fstatat(root, name, info, AT_SYMLINK_NOFOLLOW));
  };
  operations.mknod = [](const char* path, mode_t mode, dev_t device) {
    return Result(::mknodat(root, Pass(path), mode, device));
  };
  operations.mkdir = [](const char* path, mode_t mode) {
    return Result(::mkdirat(root, Pass(path), mode));
  };
  operations.unlink = [](const char* path) {
    return Result(::unlinkat(root, Pass(path), 0));
  };
  operations.rmdir = [](const char* path) {
    return Result(::unlinkat(root, Pass(path), AT_REMOVEDIR));
  };
  operations.rename = [](const char* from, const char* to, unsigned flags) {
    return Result(::renameat2(root, Pass(from), root, Pass(to), flags));
  };
  operations.chmod = [](const char* path, mode_t mode, fuse_file_info* file) {
    const char* name = Pass(path);
    return Result(file != nullptr ? ::fchmod(Descriptor(file), mode)
                                  : ::fchmodat(root, name, mode, 0));
  };
  operations.chown = [](const char* path, uid_t user, gid_t group,
                        fuse_file_info*) {
    return Result(
        ::fchownat(root, Pass(path), user, group, AT_SYMLINK_NOFOLLOW));
  };
  operations.truncate = [](const char* path, off_t size, fuse_file_info* file) {
    const char* name = Pass(path);
    if (file != nullptr) {
      return Result(::ftruncate(Descriptor(file), size));
    }
    const int fd = ::openat(root, name, O_WRONLY | O_CLOEXEC);
    const int result = fd < 0 ? -errno : Result(::ftruncate(fd, size));
    ::close(fd);
    return result;
  };
  operations.utimens = [](const char* path, const timespec times[2],
                          fuse_file_info*) {
    return Result(::utimensat(root, Pass(path), times, AT_SYMLINK_NOFOLLOW));
  };
}

// The operations on open files.
void AddFiles(fuse_operations& operations) {
  operations.create = [](const char* path, mode_t mode, fuse_file_info* file) {
    return OpenInto(path, file->flags | O_CREAT, mode, file);
  };
  operations.open = [](const char* path, fuse_file_info* file) {
    return OpenInto(path, file->flags & ~O_APPEND, 0, file);
  };
  operations.read = [](const char* path, char* data, size_t size, off_t offset,
                       fuse_file_info* file) {
    Pass(path);
    return Result(
        static_cast<int>(::pread(Descriptor(file), data, size, offset)));
  };
  operations.write = [](const char* path, const char* data, size_t size,
                        off_t offset, fuse_file_info* file) {
    Pass(path);
    return Result(
        static_cast<int>(::pwrite(Descriptor(file), data, size, offset)));
  };
  operations.fallocate = [](const char* path, int mode, off_t offset,
                            off_t size, fuse_file_info* file) {
    Pass(path);
    return Result(::fallocate(Descriptor(file), mode, offset, size));
  };
  operations.fsync = [](const char* path, int, fuse_file_info* file) {
    Pass(path);
    return Result(::fsync(Descriptor(file)));
  };
  operations.release = [](const char*, fuse_file_info* file) {
    return Result(::close(Descriptor(file)));
  };
  operations.opendir = [](const char* path, fuse_file_info* file) {
    return OpenInto(path, O_RDONLY | O_DIRECTORY, 0, file);
  };
  operations.readdir = [](const char* path, void* buffer, fuse_fill_dir_t fill,
                          off_t, fuse_file_info* file, fuse_readdir_flags) {
    Pass(path);
    // Another open file, since a DIR closes its own.
    DIR* directory = ::fdopendir(
        ::openat(Descriptor(file), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory == nullptr) {
      return -errno;
    }
    while (const dirent* entry = ::readdir(directory)) {
      fill(buffer, entry->d_name, nullptr, 0, fuse_fill_dir_flags{});
    }
    ::closedir(directory);
    return 0;
  };
  operations.fsyncdir = operations.fsync;
  operations.releasedir = operations.release;
}

fuse_operations Operations() {
  fuse_operations operations = {};
  operations.init = Init;
  AddNames(operations);
  AddFiles(operations);
  return operations;
}

// Serves the test until its input ends.
void ServeCommands(const std::string& directory) {
  for (std::string line; std::getline(std::cin, line);) {
    absl::string_view path = line;
    if (absl::StartsWith(path, "hang ")) {
      path.remove_prefix(5);
      TheGate().Close(static_cast<std::string>(path));
      std::cout << "ok" << std::endl;
    } else if (line == "release") {
      TheGate().Open();
      std::cout << "ok" << std::endl;
    } else if (line == "waiting") {
      std::cout << TheGate().waiting() << std::endl;
    }
  }
  ::umount2(directory.c_str(), MNT_DETACH);
  std::_Exit(EXIT_SUCCESS);
}

int Serve(const std::string& directory) {
  root = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const char* words[] = {"hanging_filesystem", "-o", "allow_other"};
  fuse_args arguments = FUSE_ARGS_INIT(3, const_cast<char**>(words));
  const fuse_operations operations = Operations();
  fuse* mirror = fuse_new(&arguments, &operations, sizeof operations, nullptr);
  if (root < 0 || mirror == nullptr ||
      fuse_mount(mirror, directory.c_str()) != 0) {
    return EXIT_FAILURE;
  }
  std::cout << "mounted" << std::endl;
  std::thread(ServeCommands, directory).detach();
  // A thread for each operation that hangs, and some for the others.
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, 200);
  fuse_loop_mt(mirror, config);
  // The commands' thread ends the process.
  for (;;) {
    ::pause();
  }
}

}  // namespace

int main(int argc, char** argv) {
  return argc == 2 ? Serve(argv[1]) : EXIT_FAILURE;
}
