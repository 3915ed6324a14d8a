// Takes all of something that the whole host has only a limited number of.

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

long OpenInotify() { return ::inotify_init1(0); }

long OpenTerminal() { return ::open("/dev/ptmx", O_RDWR | O_NOCTTY); }

long MakeTimer() {
  timer_t timer;
  return ::timer_create(CLOCK_MONOTONIC, nullptr, &timer);
}

// Calls `take` until it fails, reports that and how often it succeeded, and
// keeps everything until it is killed.
[[noreturn]] void TakeAll(const char* what, long (*take)()) {
  int taken = 0;
  while (taken < 1'000'000 && take() >= 0) {
    ++taken;
  }
  Report(what, -1);
  std::printf("taken: %d\n", taken);
  std::fflush(stdout);
  for (;;) {
    ::pause();
  }
}

int InotifyBomb(int, char**) { TakeAll("inotify", OpenInotify); }
int TerminalBomb(int, char**) { TakeAll("terminal", OpenTerminal); }
int TimerBomb(int, char**) { TakeAll("timer", MakeTimer); }

// Takes one of each.
int TakeOne(int, char**) {
  Report("inotify", OpenInotify() < 0 ? -1 : 0);
  Report("terminal", OpenTerminal() < 0 ? -1 : 0);
  Report("timer", MakeTimer());
  return 0;
}

// argv[1]: the number of connected pairs. Fills the buffers of each, reports
// the MiB that they hold, and keeps them.
int SocketMemory(int, char** argv) {
  static char buffer[1 << 16];
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  ::listen(listener, 16);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  long held = 0;
  for (int i = 0; i < std::atoi(argv[1]); ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::accept(listener, nullptr, nullptr) < 0) {
      Report("connect", -1);
      break;
    }
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    for (ssize_t sent; (sent = ::send(fd, buffer, sizeof(buffer), 0)) > 0;) {
      held += sent;
    }
  }
  std::printf("held: %ld\n", held >> 20);
  return 0;
}

// argv[1]: MiB. Leaves a shared memory segment behind.
int LeaveSharedMemory(int, char** argv) {
  const size_t size = static_cast<size_t>(std::atoi(argv[1])) << 20;
  const int segment = ::shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
  void* memory = ::shmat(segment, nullptr, 0);
  if (memory == reinterpret_cast<void*>(-1)) {
    Report("shmat", -1);
    return 1;
  }
  std::memset(memory, 1, size);
  std::printf("left\n");
  return 0;
}

constexpr key_t kKey = 0x5150;

// Holds a segment that only its user may use, until it is killed.
int HoldSharedMemory(int, char**) {
  const int segment = ::shmget(kKey, 4096, IPC_CREAT | IPC_EXCL | 0600);
  const void* memory = ::shmat(segment, nullptr, 0);
  Report("hold", memory == reinterpret_cast<void*>(-1) ? -1 : 0);
  for (;;) {
    ::pause();
  }
}

int FindSharedMemory(int, char**) {
  Report("find", ::shmget(kKey, 4096, 0600) < 0 ? -1 : 0);
  return 0;
}

}  // namespace

const Entry kTables[] = {{"inotify-bomb", InotifyBomb},
                         {"terminal-bomb", TerminalBomb},
                         {"timer-bomb", TimerBomb},
                         {"take-one", TakeOne},
                         {"socket-memory", SocketMemory},
                         {"leave-shared-memory", LeaveSharedMemory},
                         {"hold-shared-memory", HoldSharedMemory},
                         {"find-shared-memory", FindSharedMemory},
                         {nullptr, nullptr}};

}  // namespace payloads
