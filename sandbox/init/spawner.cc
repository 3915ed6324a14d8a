// The fork server of a sandbox: exists before anything untrusted runs in it,
// and starts every command on request of the supervisor. It is already
// confined, and commands inherit its filter; what remains for each command is
// vfork, a few descriptors and exec.
// Children are made with CLONE_PARENT, so that the supervisor reaps them.
//
// Between clone and exec the child shares this process's memory. It has another
// user id than the spawner by then, or there is only one, but the memory stays
// non-dumpable, so nothing inside can trace it.

#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/time.h>
#include <linux/uio.h>

#include "sandbox/init/exchange.h"
#include "sandbox/init/program_search.h"
#include "sandbox/init/spawn_request.h"
#include "sandbox/init/syscall.h"

namespace sandbox::init {
namespace {

// The kernel's struct msghdr and cmsghdr; <sys/socket.h> is the C library's.
struct Message {
  void* name;
  int name_size;
  iovec* vectors;
  size_t vector_count;
  void* control;
  size_t control_size;
  unsigned flags;
};

struct ControlFds {
  size_t size;
  int level;
  int type;
  int fds[kMaxSpawnFds];
};

constexpr int kSolSocket = 1;
constexpr int kScmRights = 1;
constexpr int kMsgCmsgCloexec = 0x40000000;
constexpr int kMsgNosignal = 0x4000;
constexpr unsigned kMsgCtrunc = 8;
constexpr size_t kControlHeader = offsetof(ControlFds, fds);

struct Spawn {
  char* exchange;
  SpawnRequest request;
  int fds[kMaxSpawnFds];
  int fd_count;
  // The kernel dropped descriptors of the packet: there was no room for them.
  bool fds_truncated;
  CommandStrings strings;
  SpawnAnswer answer;
};

Spawn spawn;
alignas(16) char child_stack[32768];
// True if the sandbox has one user, who is this process, too. Then there is
// nothing to give up, and commands cannot have other groups.
bool is_command_user;

void SetAnswer(SpawnStage stage, int32_t error) {
  spawn.answer.stage = stage;
  spawn.answer.error = error;
}

int Fail(SpawnStage stage, long result) {
  SetAnswer(stage, static_cast<int32_t>(-result));
  return 1;
}

// Sets the answer that is sent if the child is killed from here on.
void Enter(SpawnStage stage) { SetAnswer(stage, EINTR); }

// Sets `time` to now, if the times are wanted: this is a system call.
void Note(int64_t* time) {
  if (spawn.request.traced != 0) {
    timespec now = {};
    Syscall(__NR_clock_gettime, CLOCK_MONOTONIC, Address(&now));
    *time = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
}

long JoinCgroup() {
  if (spawn.request.group != SpawnGroup::kTasks) {
    return 0;  // there is none, or CLONE_INTO_CGROUP made the child in it
  }
  for (int i = kStreamFds; i < spawn.fd_count; ++i) {
    // "0" is the writer itself. For a single thread the kernel then takes no
    // global lock, which would wait for an RCU grace period.
    const long result = Syscall(__NR_write, spawn.fds[i], Address("0"), 1);
    if (result < 0) {
      return result;
    }
  }
  return 0;
}

long LimitFileSize(uint64_t bytes) {
  const rlimit limit = {bytes, bytes};
  const long result = Syscall(__NR_setrlimit, RLIMIT_FSIZE, Address(&limit));
  // EPERM: the limit that was inherited is a lower one, and stays.
  return result == -EPERM ? 0 : result;
}

long BecomeCommand() {
  const uint32_t user = spawn.request.user_id;
  long result = 0;
  for (int i = 0; i < kStreamFds && result >= 0; ++i) {
    result = Syscall(__NR_dup3, spawn.fds[i], i, 0);
  }
  if (result >= 0) {
    result = Syscall(__NR_close_range, kStreamFds, ~0U, 0);
  }
  if (result >= 0) {
    result = Syscall(__NR_setsid);
  }
  if (result >= 0 && spawn.request.terminal != 0) {
    result = Syscall(__NR_ioctl, 0, TIOCSCTTY, 0);
  }
  if (result >= 0 && spawn.request.file_bytes != 0) {
    result = LimitFileSize(spawn.request.file_bytes);
  }
  if (result >= 0 && !is_command_user) {
    result = Syscall(__NR_setgroups, 0, 0);
  }
  if (result >= 0) {
    result = Syscall(__NR_setresgid, user, user, user);
  }
  // Leaving user id 0 empties the permitted and effective capabilities. A
  // spawner that is the commands' user has none.
  if (result >= 0) {
    result = Syscall(__NR_setresuid, user, user, user);
  }
  return result;
}

long Execute(const char* path) {
  Note(&spawn.answer.times.executing_ns);
  // A successful execution is the last thing that the child does.
  SetAnswer(SpawnStage::kNone, 0);
  const long result =
      Syscall(__NR_execve, Address(path), Address(spawn.strings.arguments),
              Address(spawn.strings.environment));
  Enter(SpawnStage::kExec);
  return result;
}

int RunChild(void*) {
  long result = JoinCgroup();
  if (result < 0) {
    return Fail(SpawnStage::kCgroup, result);
  }
  Enter(SpawnStage::kPrepare);
  result = BecomeCommand();
  if (result < 0) {
    return Fail(SpawnStage::kPrepare, result);
  }
  Enter(SpawnStage::kChdir);
  result = Syscall(__NR_chdir, Address(spawn.strings.working_directory));
  if (result < 0) {
    return Fail(SpawnStage::kChdir, result);
  }
  Enter(SpawnStage::kExec);
  const char* program = spawn.strings.arguments[0];
  result = spawn.strings.search_path != nullptr
               ? SearchAndExecute(spawn.strings.search_path, program, Execute)
               : Execute(program);
  return Fail(SpawnStage::kExec, result);
}

// Reads the request from the exchange and checks it. Returns 0 or -errno.
long ReadRequest() {
  spawn.request = *reinterpret_cast<SpawnRequest*>(spawn.exchange);
  long result =
      CheckDescriptors(spawn.request, spawn.fd_count, spawn.fds_truncated);
  if (result >= 0) {
    result = CheckUser(spawn.request);
  }
  return result < 0 ? result
                    : LayOut(spawn.exchange, spawn.request, &spawn.strings);
}

// Starts the command of the request. Returns its pidfd, or -1.
int Start() {
  spawn.answer = {};
  const long request = ReadRequest();
  Note(&spawn.answer.times.taken_ns);
  if (request < 0) {
    Fail(SpawnStage::kPrepare, request);
    return -1;
  }
  int pidfd = -1;
  clone_args arguments = {};
  arguments.flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT | CLONE_PIDFD;
  arguments.pidfd = static_cast<uint64_t>(Address(&pidfd));
  arguments.stack = static_cast<uint64_t>(Address(child_stack));
  arguments.stack_size = sizeof(child_stack);
  if (spawn.request.group == SpawnGroup::kDirectory) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<uint64_t>(spawn.fds[kStreamFds]);
  }
  // Set before the clone: the child may be killed before its first instruction.
  Enter(SpawnStage::kCgroup);
  const long result =
      CloneRunning(&arguments, sizeof(arguments), RunChild, nullptr);
  if (result < 0) {
    // `pidfd` is not valid, though the kernel may have written a number: it
    // closes the descriptor again when the cgroup's limit of processes is
    // reached.
    Fail(SpawnStage::kClone, result);
    return -1;
  }
  if (spawn.answer.stage == SpawnStage::kNone) {
    Note(&spawn.answer.times.executed_ns);
  }
  return pidfd;
}

// Closes the descriptors from `first` to `last`.
void Close(unsigned first, unsigned last) {
  Syscall(__NR_close_range, first, last, 0);
}

// Returns false if the supervisor is gone.
bool ReceiveRequest() {
  ControlFds control;
  char byte;
  iovec vector = {&byte, 1};
  Message message = {nullptr, 0, &vector, 1, &control, sizeof(control), 0};
  if (Syscall(__NR_recvmsg, kSpawnerSocket, Address(&message),
              kMsgCmsgCloexec) != 1) {
    return false;
  }
  spawn.fds_truncated = (message.flags & kMsgCtrunc) != 0;
  spawn.fd_count =
      message.control_size < kControlHeader
          ? 0
          : static_cast<int>((control.size - kControlHeader) / sizeof(int));
  for (int i = 0; i < spawn.fd_count; ++i) {
    spawn.fds[i] = control.fds[i];
  }
  return true;
}

// Returns false if the kernel refuses, or the supervisor is gone. It would wait
// for the answer as long as the spawner lives.
bool SendAnswer(int pidfd) {
  ControlFds control = {
      kControlHeader + sizeof(int), kSolSocket, kScmRights, {pidfd}};
  iovec vector = {&spawn.answer, sizeof(spawn.answer)};
  Message message = {nullptr, 0, &vector, 1, nullptr, 0, 0};
  if (pidfd >= 0) {
    message.control = &control;
    message.control_size = (kControlHeader + sizeof(int) + 7) & ~size_t{7};
  }
  return Syscall(__NR_sendmsg, kSpawnerSocket, Address(&message),
                 kMsgNosignal) >= 0;
}

// The program was executed with SETPCAP only for this function.
bool GiveUpCapabilities() {
  const long bounding[] = {CAP_SETUID, CAP_SETGID, CAP_SETPCAP};
  for (const long capability : bounding) {
    if (Syscall(__NR_prctl, PR_CAPBSET_DROP, capability) != 0) {
      return false;
    }
  }
  const uint32_t kept = (1U << CAP_SETUID) | (1U << CAP_SETGID);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {{kept, kept, 0}, {0, 0, 0}};
  return Syscall(__NR_capset, Address(&header), Address(data)) == 0;
}

}  // namespace

int RunSpawner() {
  is_command_user = Syscall(__NR_geteuid) == long{kCommandId};
  const long exchange =
      Syscall(__NR_mmap, 0, kExchangeSize, PROT_READ | PROT_WRITE, MAP_SHARED,
              kSpawnerExchange, 0);
  if (exchange < 0 || (!is_command_user && !GiveUpCapabilities()) ||
      Syscall(__NR_prctl, PR_SET_DUMPABLE, 0) != 0) {
    return 1;
  }
  Syscall(__NR_close, kSpawnerExchange);
  spawn.exchange = reinterpret_cast<char*>(exchange);
  bool answered = SendAnswer(-1);  // ready
  while (answered && ReceiveRequest()) {
    const int pidfd = Start();
    // Nothing else is open above the socket, so the kernel numbered the pidfd
    // after the descriptors of the request.
    Close(kSpawnerSocket + 1, pidfd >= 0 ? pidfd - 1 : ~0U);
    answered = SendAnswer(pidfd);
    if (pidfd >= 0) {
      Close(pidfd, ~0U);
    }
  }
  return answered ? 0 : 1;
}

}  // namespace sandbox::init
