#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

// On the terminal that is standard input.
int Inject(int, char**) {
  const char byte = 'x';
  Tell("TIOCSTI", ::ioctl(0, TIOCSTI, &byte));
  // The kernel takes an unsigned int; see CVE-2019-10063.
  Tell("TIOCSTI, high bits",
       ::syscall(SYS_ioctl, 0, 0x100000000L | TIOCSTI, &byte));
  Tell("TIOCSTI, sign bits",
       ::syscall(SYS_ioctl, 0, ~0xffffffffL | TIOCSTI, &byte));
  char paste[2] = {3, 0};
  Tell("TIOCLINUX", ::ioctl(0, TIOCLINUX, paste));
  Tell("TIOCLINUX, high bits",
       ::syscall(SYS_ioctl, 0, 0x200000000L | TIOCLINUX, paste));
  Tell("TIOCCONS", ::ioctl(0, TIOCCONS));
  return 0;
}

int Steal(int, char**) {
  Tell("/dev/tty", ::open("/dev/tty", O_RDWR));
  Tell("TIOCSCTTY", ::ioctl(0, TIOCSCTTY, 1));
  pid_t group = 1;
  Tell("TIOCSPGRP", ::ioctl(0, TIOCSPGRP, &group));
  Tell("/dev/pts/0", ::open("/dev/pts/0", O_RDWR | O_NOCTTY));
  Tell("rename ptmx", ::rename("/dev/pts/ptmx", "/dev/pts/x"));
  Tell("unlink null", ::unlink("/dev/null"));
  Tell("symlink console", ::symlink("/proc/self/mem", "/dev/console"));
  return 0;
}

}  // namespace

const Entry kTerminal[] = {
    {"inject", Inject}, {"steal", Steal}, {nullptr, nullptr}};

}  // namespace payloads
