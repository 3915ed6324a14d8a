// The search for a program along PATH, as execvp(3) does it.

#ifndef SANDBOX_INIT_PROGRAM_SEARCH_H_
#define SANDBOX_INIT_PROGRAM_SEARCH_H_

#include <stddef.h>

namespace sandbox::init {

// The longest path that the kernel takes, its NUL included.
constexpr size_t kPathMax = 4096;

// Executes the program at `path`. Returns only on failure: -errno.
using ExecuteFunction = long (*)(const char* path);

// Calls `execute` with the path of `name` in each of the colon-separated
// `directories`, an empty one being the working directory, until it fails for
// another reason than that the file is missing or cannot be executed. Returns
// that reason; else -EACCES if a file was found; else -ENOENT.
//
// Not reentrant: `path` is in a buffer of the program.
long SearchAndExecute(const char* directories, const char* name,
                      ExecuteFunction execute);

}  // namespace sandbox::init

#endif  // SANDBOX_INIT_PROGRAM_SEARCH_H_
