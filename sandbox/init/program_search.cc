#include "sandbox/init/program_search.h"

#include <linux/errno.h>

namespace sandbox::init {
namespace {

char program_path[kPathMax];

// Sets program_path to directory[0..size) + "/" + name. Returns false if that
// is too long.
bool JoinPath(const char* directory, size_t size, const char* name) {
  size_t at = 0;
  for (; at < size && at + 1 < kPathMax; ++at) {
    program_path[at] = directory[at];
  }
  if (size > 0 && at + 1 < kPathMax) {
    program_path[at++] = '/';
  }
  for (; *name != '\0' && at + 1 < kPathMax; ++name) {
    program_path[at++] = *name;
  }
  program_path[at] = '\0';
  return *name == '\0';
}

}  // namespace

long SearchAndExecute(const char* directories, const char* name,
                      ExecuteFunction execute) {
  long failure = -ENOENT;
  for (;;) {
    size_t size = 0;
    while (directories[size] != '\0' && directories[size] != ':') {
      ++size;
    }
    const long result = JoinPath(directories, size, name)
                            ? execute(program_path)
                            : -ENAMETOOLONG;
    if (result == -EACCES) {
      failure = result;
    } else if (result != -ENOENT && result != -ENOTDIR &&
               result != -ENAMETOOLONG) {
      return result;
    }
    if (directories[size] == '\0') {
      return failure;
    }
    directories += size + 1;
  }
}

}  // namespace sandbox::init
