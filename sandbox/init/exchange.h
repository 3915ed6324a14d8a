// The messages between the supervisor and the spawner.
//
// A memfd that both map holds one request at a time. The supervisor hands the
// request over with a packet of one byte on a SOCK_SEQPACKET pair, together
// with its descriptors (SCM_RIGHTS). The spawner answers with a packet when the
// command executes or cannot be executed.
//
// Descriptors of a request: the command's 0, 1 and 2; then those of its cgroup:
// see SpawnGroup. `tasks` files are open for writing. Descriptor of an answer:
// the command's pidfd, if there is a process.

#ifndef SANDBOX_INIT_EXCHANGE_H_
#define SANDBOX_INIT_EXCHANGE_H_

#include <stddef.h>
#include <stdint.h>

namespace sandbox {

// Enough for 1 MiB of strings and a pointer for each of 512 Ki one-byte
// strings; untouched pages take no memory.
constexpr size_t kExchangeSize = size_t{6} << 20;
// Strings begin here, behind the request's header.
constexpr size_t kExchangeStrings = 4096;

// The names of the two processes of corral-init, as ps on the host shows them:
// argv[0] selects the role, and each sets its name to it. A name of a process
// has at most 15 characters.
constexpr char kInitName[] = "corral-init";
constexpr char kSpawnerName[] = "corral-spawner";

// The exit status of an init whose filter the kernel has no memory for, see
// filter_error.h in ../base. Init reports nothing else.
constexpr int kInitLacksFilterMemory = 3;

// The descriptors of the spawner when it is executed.
constexpr int kSpawnerSocket = 3;
constexpr int kSpawnerExchange = 4;

// The user and group id of commands inside the sandbox that have none of their
// own. Those of the spawner and init are 0, or the same if the sandbox has no
// ids of its own.
constexpr uint32_t kCommandId = 1000;

// Descriptors of a request: the command's streams come first.
constexpr int kStreamFds = 3;
constexpr int kMaxSpawnFds = kStreamFds + 8;

// How the command gets into its control group, and which descriptors follow its
// streams.
enum class SpawnGroup : uint32_t {
  kTasks = 0,      // v1: a `tasks` file for each hierarchy
  kDirectory = 1,  // v2: the group's directory
  kNone = 2,       // no group, and no descriptors
};

struct SpawnRequest {
  // NUL-terminated strings from kExchangeStrings on: working directory, argv,
  // environment.
  uint32_t argument_count;
  uint32_t environment_count;
  uint32_t strings_size;
  // The offset of the PATH to search, a NUL-terminated list; 0 if argv[0] has a
  // slash.
  uint32_t path_offset;
  SpawnGroup group;
  // 1 if descriptor 0 is a terminal to become the controlling one.
  uint16_t terminal;
  // 1 if the answer is to have SpawnTimes.
  uint16_t traced;
  // The user and group of the command; not 0.
  uint32_t user_id;
  // The limit of the size of the files that the command writes; 0: none.
  uint64_t file_bytes;
};

// The numbers are StartFailure.Stage's.
enum class SpawnStage : int32_t {
  kNone = 0,
  kCgroup = 2,
  kClone = 3,
  kPrepare = 4,
  kChdir = 5,
  kExec = 6,
};

// Nanoseconds of the monotonic clock. 0: not reached, or not traced.
struct SpawnTimes {
  // The spawner had the request.
  int64_t taken_ns;
  // The command's process called execve(2), for the last time.
  int64_t executing_ns;
  // The program executes.
  int64_t executed_ns;
};

struct SpawnAnswer {
  SpawnStage stage;  // kNone: it executes
  int32_t error;     // errno; EINTR: the process was killed in this stage
  SpawnTimes times = {0, 0, 0};
};

}  // namespace sandbox

#endif  // SANDBOX_INIT_EXCHANGE_H_
