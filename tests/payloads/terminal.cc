#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

// Attacks on the terminal that is standard input.
int Inject(int, char**) {
  const char byte = 'x';
  Report("TIOCSTI", ::ioctl(0, TIOCSTI, &byte));
  // The kernel uses only an unsigned int of the request; see CVE-2019-10063.
  Report("TIOCSTI, high bits",
         ::syscall(SYS_ioctl, 0, 0x100000000L | TIOCSTI, &byte));
  Report("TIOCSTI, sign bits",
         ::syscall(SYS_ioctl, 0, ~0xffffffffL | TIOCSTI, &byte));
  char paste[2] = {3, 0};
  Report("TIOCLINUX", ::ioctl(0, TIOCLINUX, paste));
  Report("TIOCLINUX, high bits",
         ::syscall(SYS_ioctl, 0, 0x200000000L | TIOCLINUX, paste));
  const int discipline = 0;
  Report("TIOCSETD", ::ioctl(0, TIOCSETD, &discipline));
  Report("TIOCSETD, high bits",
         ::syscall(SYS_ioctl, 0, 0x100000000L | TIOCSETD, &discipline));
  Report("TIOCCONS", ::ioctl(0, TIOCCONS));
  return 0;
}

int Steal(int, char**) {
  Report("/dev/tty", ::open("/dev/tty", O_RDWR));
  Report("TIOCSCTTY", ::ioctl(0, TIOCSCTTY, 1));
  pid_t group = 1;
  Report("TIOCSPGRP", ::ioctl(0, TIOCSPGRP, &group));
  Report("/dev/pts/0", ::open("/dev/pts/0", O_RDWR | O_NOCTTY));
  Report("rename ptmx", ::rename("/dev/pts/ptmx", "/dev/pts/x"));
  Report("unlink null", ::unlink("/dev/null"));
  Report("symlink console", ::symlink("/proc/self/mem", "/dev/console"));
  return 0;
}

}  // namespace

const Entry kTerminal[] = {
    {"inject", Inject}, {"steal", Steal}, {nullptr, nullptr}};

}  // namespace payloads
