// A request of the supervisor, checked and laid out for execve(2).
//
// The supervisor is trusted; the checks turn its bugs into a refused command
// instead of one that runs outside of its cgroup or ends the sandbox.

#ifndef SANDBOX_INIT_SPAWN_REQUEST_H_
#define SANDBOX_INIT_SPAWN_REQUEST_H_

#include "sandbox/init/exchange.h"

namespace sandbox::init {

// Points into the exchange.
struct CommandStrings {
  const char* working_directory;
  // Null if argv[0] has a slash.
  const char* search_path;
  // A null pointer ends each table.
  char** arguments;
  char** environment;
};

// Writes the pointer tables behind the strings of `request`. `exchange` has
// kExchangeSize bytes and is aligned to 8. Returns 0, or -EINVAL if a string is
// not terminated, the number of strings or a size is wrong, or there is no
// argv[0].
long LayOut(char* exchange, const SpawnRequest& request,
            CommandStrings* strings);

// Returns 0, or -EINVAL if the command would be user 0, which init and the
// spawner are. It would be with the id 0, and with -1: setresuid(2) then
// changes nothing.
long CheckUser(const SpawnRequest& request);

// Returns 0 if the command's streams and its cgroup are among `count`
// descriptors. -EMFILE: the kernel dropped some (`truncated`). -EINVAL: the
// number is wrong.
long CheckDescriptors(const SpawnRequest& request, int count, bool truncated);

}  // namespace sandbox::init

#endif  // SANDBOX_INIT_SPAWN_REQUEST_H_
