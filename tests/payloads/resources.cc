// Attacks without end on the resources that the sandbox's limits bound.

#include <fcntl.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

constexpr size_t kStep = size_t{4} << 20;

// argv[1]: the most MiB to use.
size_t Bound(int argc, char** argv) {
  return (argc > 1 ? static_cast<size_t>(std::atoi(argv[1])) : 0) << 20;
}

int Memory(int argc, char** argv) {
  for (size_t taken = 0; taken < Bound(argc, argv); taken += kStep) {
    void* memory = ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      Report("mmap", -1);
      return 1;
    }
    std::memset(memory, 1, kStep);
  }
  std::printf("taken\n");
  return 0;
}

int MemfdMemory(int argc, char** argv) {
  static char buffer[kStep];
  const int memfd = ::memfd_create("bomb", 0);
  for (size_t taken = 0; taken < Bound(argc, argv); taken += kStep) {
    if (::write(memfd, buffer, kStep) < 0) {
      Report("write", -1);
      return 1;
    }
  }
  std::printf("taken\n");
  return 0;
}

int SharedMemory(int argc, char** argv) {
  for (size_t taken = 0; taken < Bound(argc, argv); taken += kStep) {
    const int segment = ::shmget(IPC_PRIVATE, kStep, 0600);
    void* memory = segment < 0 ? nullptr : ::shmat(segment, nullptr, 0);
    if (segment < 0 || memory == reinterpret_cast<void*>(-1)) {
      Report("shmget", -1);
      return 1;
    }
    // Disappears with the last process.
    ::shmctl(segment, IPC_RMID, nullptr);
    std::memset(memory, 1, kStep);
  }
  std::printf("taken\n");
  return 0;
}

// Fills pipes until memory or descriptors run out.
int Pipes(int, char**) {
  static char buffer[1 << 20];
  const rlimit files = {65536, 65536};
  ::setrlimit(RLIMIT_NOFILE, &files);
  for (int i = 0; i < 2000; ++i) {
    int fds[2];
    if (::pipe2(fds, O_NONBLOCK) != 0) {
      Report("pipe", -1);
      return 1;
    }
    ::fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
    if (::write(fds[1], buffer, sizeof(buffer)) < 0) {
      Report("write", -1);
      return 1;
    }
  }
  std::printf("taken\n");
  return 0;
}

int Descriptors(int, char**) {
  int made = 0;
  while (::dup(0) >= 0) {
    ++made;
  }
  Report("dup", -1);
  std::printf("made: %d\n", made);
  return 0;
}

// Descriptors in flight, which no process has open.
int DescriptorsInFlight(int, char**) {
  int pair[2];
  ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair);
  alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))] = {};
  char byte = 'x';
  iovec vector = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(253 * sizeof(int));
  for (int i = 0; i < 253; ++i) {
    std::memcpy(CMSG_DATA(header) + static_cast<size_t>(i) * sizeof(int),
                &pair[0], sizeof(int));
  }
  int sent = 0;
  for (int fresh[2]; sent < 100000; ++sent) {
    // A queue holds few packets: a new one for each.
    if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fresh) != 0 ||
        ::sendmsg(fresh[0], &message, 0) < 0) {
      break;
    }
  }
  Report("send", -1);
  std::printf("sent: %s\n", sent < 5000 ? "few" : "many");
  return 0;
}

// Makes files larger than 1 MiB, and the limit of their size.
int FileSize(int, char**) {
  constexpr off_t kLimit = off_t{1} << 20;
  ::signal(SIGXFSZ, SIG_IGN);
  const int file = ::open("/tmp/large", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int memory = ::memfd_create("large", MFD_CLOEXEC);
  const int source = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  Report("up to the limit", ::pwrite(file, "x", 1, kLimit - 1));
  Report("beyond it", ::pwrite(file, "x", 1, kLimit));
  Report("truncate", ::ftruncate(file, kLimit + 1));
  Report("allocate", ::fallocate(file, 0, 0, kLimit + 1));
  ::lseek(file, kLimit, SEEK_SET);
  Report("sendfile", ::sendfile(file, source, nullptr, 1));
  Report("in memory", ::ftruncate(memory, kLimit + 1));
  const rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
  Report("setrlimit", ::setrlimit(RLIMIT_FSIZE, &more));
  Report("prlimit", ::prlimit(0, RLIMIT_FSIZE, &more, nullptr));
  return 0;
}

}  // namespace

const Entry kResources[] = {{"memory", Memory},
                            {"memfd-memory", MemfdMemory},
                            {"shared-memory", SharedMemory},
                            {"pipes", Pipes},
                            {"descriptor-bomb", Descriptors},
                            {"descriptors-in-flight", DescriptorsInFlight},
                            {"file-size", FileSize},
                            {nullptr, nullptr}};

}  // namespace payloads
