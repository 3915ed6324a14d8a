#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

[[noreturn]] void Stay() {
  for (;;) {
    ::pause();
  }
}

void Say(const char* text) {
  std::printf("%s\n", text);
  std::fflush(stdout);
}

// argv[1]: a pid.
int Assault(int, char** argv) {
  const pid_t pid = std::atoi(argv[1]);
  Report("seize", ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr));
  Report("attach", ::ptrace(PTRACE_ATTACH, pid, nullptr, nullptr));
  char byte;
  iovec local = {&byte, 1};
  iovec remote = {reinterpret_cast<void*>(0x400000), 1};
  Report("readv", ::process_vm_readv(pid, &local, 1, &remote, 1, 0));
  Report("writev", ::process_vm_writev(pid, &local, 1, &remote, 1, 0));
  Report("kill 0", ::kill(pid, 0));
  Report("stop", ::kill(pid, SIGSTOP));
  Report("kill", ::kill(pid, SIGKILL));
  Report("tgkill", ::syscall(SYS_tgkill, pid, pid, SIGKILL));
  const long pidfd = ::syscall(SYS_pidfd_open, pid, 0);
  Report("pidfd kill",
         ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0));
  Report("affinity", ::sched_setaffinity(pid, 0, nullptr));
  Report("setpgid", ::setpgid(pid, 0));
  return 0;
}

// A child of the supervisor. Returns 0 in the child.
long MakeSibling() {
  clone_args arguments = {};
  arguments.flags = CLONE_PARENT;
  return ::syscall(SYS_clone3, &arguments, sizeof(arguments));
}

// Creates children of the supervisor: many that end, and one that stays.
int ParentsChild(int, char**) {
  const long child = ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    ::_exit(0);
  }
  Report("clone", child);
  int reaped = 0;
  for (int i = 0; i < 100; ++i) {
    const long sibling = MakeSibling();
    if (sibling == 0) {
      ::_exit(i);
    }
    // A zombie could still be signalled, and this would never return.
    while (::kill(static_cast<pid_t>(sibling), 0) == 0) {
      ::sched_yield();
    }
    ++reaped;
  }
  std::printf("reaped: %d\n", reaped);
  std::fflush(stdout);
  if (MakeSibling() == 0) {
    for (int fd = 0; fd < 16; ++fd) {
      ::close(fd);
    }
    Stay();
  }
  return 7;
}

// Leaves children of the supervisor behind, as fast as it can, that end at any
// time.
int ManyParentsChildren(int, char**) {
  for (int i = 0; i < 200; ++i) {
    if (MakeSibling() == 0) {
      ::_exit(i);
    }
  }
  return 7;
}

// Ends as a zombie that only its tracer could reap; the tracer says so, and
// does not reap it.
int TracedEnd(int, char**) {
  const pid_t leader = ::getpid();
  int ready[2];
  if (::pipe(ready) != 0) {
    return 1;
  }
  if (::fork() == 0) {
    ::setsid();
    if (::ptrace(PTRACE_SEIZE, leader, nullptr, nullptr) == 0 &&
        ::write(ready[1], "x", 1) == 1) {
      siginfo_t end;
      Report("traced end",
             ::waitid(P_PID, leader, &end, WEXITED | WNOWAIT | __WALL));
      for (int fd = 0; fd < 16; ++fd) {
        ::close(fd);
      }
      Stay();
    }
    ::_exit(1);
  }
  ::close(ready[1]);
  char byte;
  return ::read(ready[0], &byte, 1) == 1 ? 5 : 1;
}

// Leaves a descendant that only the kernel can find.
int Daemon(int, char**) {
  int ready[2];
  if (::pipe(ready) != 0) {
    return 1;
  }
  for (int i = 0; i < 3; ++i) {
    if (::fork() != 0) {
      if (i == 0) {
        // Waits until the descendant has closed its descriptors.
        ::close(ready[1]);
        char byte;
        std::printf("daemon: %zd\n", ::read(ready[0], &byte, 1));
        std::fflush(stdout);
      }
      ::_exit(0);
    }
    ::setsid();
  }
  for (int signal = 1; signal < 64; ++signal) {
    ::signal(signal, SIG_IGN);
  }
  ::prctl(PR_SET_PDEATHSIG, 0);
  ::prctl(PR_SET_NAME, "quiet");
  for (int fd = 0; fd < 16; ++fd) {
    ::close(fd);
  }
  Stay();
}

// argv[1]: the largest number of children to leave unreaped.
int Zombies(int, char** argv) {
  const int wanted = std::atoi(argv[1]);
  int made = 0;
  for (; made < wanted; ++made) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(0);
    }
    if (child < 0) {
      Report("fork", -1);
      break;
    }
  }
  std::printf("made: %s\n", made < wanted ? "some" : "all");
  return 0;
}

int ForkBomb(int, char**) {
  Say("bomb");
  for (;;) {
    ::fork();
  }
}

void* Idle(void*) { Stay(); }

int ThreadBomb(int, char**) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 1 << 16);
  int made = 0;
  pthread_t thread;
  int error = 0;
  while (made < 100000 &&
         (error = ::pthread_create(&thread, &attributes, Idle, nullptr)) == 0) {
    ++made;
  }
  errno = error;
  Report("thread", -1);
  std::printf("made: %s\n", made < 1000 ? "few" : "many");
  std::fflush(stdout);
  ::_exit(0);
}

// A parent that only a fatal signal interrupts.
int VforkParent(int, char**) {
  Say("vfork");
  if (::vfork() == 0) {  // NOLINT: on purpose
    for (;;) {
      ::syscall(SYS_pause);
    }
  }
  return 0;
}

int Stopped(int, char**) {
  ::signal(SIGTERM, SIG_IGN);
  Say("stopping");
  ::raise(SIGSTOP);
  Stay();
}

// Sends SIGKILL to everything that it can reach.
int KillAll(int, char**) {
  Say("shooting");
  ::kill(-1, SIGKILL);
  return 0;
}

// Stops everything that it can reach, again and again: also what the spawner is
// starting.
int StopAll(int, char**) {
  Say("stopping");
  for (;;) {
    ::kill(-1, SIGSTOP);
  }
}

// Kills all others, again and again: also what the spawner is starting.
int KillOthers(int, char**) {
  Say("shooting");
  for (;;) {
    ::kill(-1, SIGKILL);
  }
}

int Crash(int, char**) {
  const size_t size = size_t{64} << 20;
  char* memory =
      static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(memory, 1, size);
  ::raise(SIGSEGV);
  return 0;
}

// Executes itself from a memfd: is it still filtered?
int Memfd(int, char**) {
  const int memfd = ::memfd_create("self", 0);
  const int self = ::open("/proc/self/exe", O_RDONLY);
  char buffer[1 << 16];
  for (ssize_t got; (got = ::read(self, buffer, sizeof(buffer))) > 0;) {
    if (::write(memfd, buffer, static_cast<size_t>(got)) != got) {
      return 1;
    }
  }
  char* const arguments[] = {const_cast<char*>("attack"),
                             const_cast<char*>("refused"), nullptr};
  char* const environment[] = {nullptr};
  ::syscall(SYS_execveat, memfd, "", arguments, environment, AT_EMPTY_PATH);
  Report("execveat", -1);
  return 1;
}

int OwnChild(int, char**) {
  const pid_t child = ::fork();
  if (child == 0) {
    Stay();
  }
  Report("seize", ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace

const Entry kProcesses[] = {{"assault", Assault},
                            {"parents-child", ParentsChild},
                            {"many-parents-children", ManyParentsChildren},
                            {"traced-end", TracedEnd},
                            {"daemon", Daemon},
                            {"zombies", Zombies},
                            {"fork-bomb", ForkBomb},
                            {"thread-bomb", ThreadBomb},
                            {"vfork-parent", VforkParent},
                            {"stopped", Stopped},
                            {"kill-all", KillAll},
                            {"stop-all", StopAll},
                            {"kill-others", KillOthers},
                            {"crash", Crash},
                            {"memfd", Memfd},
                            {"own-child", OwnChild},
                            {nullptr, nullptr}};

}  // namespace payloads
