#include "sandbox/kernel/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// The highest oom_score_adj.
constexpr char kFirst[] = "1000";

using Capabilities = std::array<__user_cap_data_struct, 2>;

Capabilities SetOf(std::initializer_list<int> capabilities) {
  Capabilities set = {};
  for (const int capability : capabilities) {
    __user_cap_data_struct& half = set[static_cast<size_t>(capability) / 32];
    half.permitted |= 1U << (capability % 32);
    half.effective |= 1U << (capability % 32);
  }
  return set;
}

absl::Status Set(const Capabilities& capabilities) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(SYS_capset, &header, capabilities.data()) != 0) {
    return absl::ErrnoToStatus(errno, "capset");
  }
  return absl::OkStatus();
}

absl::Status LimitBoundingSet(std::initializer_list<int> capabilities) {
  for (int capability = 0;; ++capability) {
    if (std::find(capabilities.begin(), capabilities.end(), capability) !=
        capabilities.end()) {
      continue;
    }
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) {
      // EINVAL: that was the last. The kernel may know more capabilities than
      // the headers.
      return errno == EINVAL
                 ? absl::OkStatus()
                 : absl::ErrnoToStatus(
                       errno, absl::StrCat("drop capability ", capability));
    }
  }
}

}  // namespace

absl::Status BecomeNamespaceRoot() {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(0, 0, 0) != 0 ||
      ::setresuid(0, 0, 0) != 0) {
    return absl::ErrnoToStatus(errno, "become root of the user namespace");
  }
  return absl::OkStatus();
}

absl::Status KeepOnly(std::initializer_list<int> capabilities) {
  RETURN_IF_ERROR(LimitBoundingSet(capabilities));
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
    return absl::ErrnoToStatus(errno, "clear ambient capabilities");
  }
  RETURN_IF_ERROR(Set(SetOf(capabilities)));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return absl::ErrnoToStatus(errno, "no_new_privs");
  }
  return absl::OkStatus();
}

absl::Status KeepAtMost(std::initializer_list<int> capabilities) {
  // Fails without CAP_SETPCAP, as in some containers.
  (void)LimitBoundingSet(capabilities);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  Capabilities present = {};
  if (::syscall(SYS_capget, &header, present.data()) != 0) {
    return absl::ErrnoToStatus(errno, "capget");
  }
  Capabilities kept = SetOf(capabilities);
  for (size_t i = 0; i < kept.size(); ++i) {
    kept[i].permitted &= present[i].permitted;
    kept[i].effective = kept[i].permitted;
  }
  return Set(kept);
}

absl::Status SetResourceLimits(CoreLimit core) {
  struct Limit {
    __rlimit_resource resource;
    rlim_t soft;
    rlim_t hard;
  };
  constexpr rlim_t kMiB = 1 << 20;
  const Limit limits[] = {
      // With 0, the kernel still runs the host's program for core dumps
      // (core_pattern); with 1, it does not.
      {RLIMIT_CORE, 1,
       core == CoreLimit::kOne ? rlim_t{1} : rlim_t{RLIM_INFINITY}},
      // A program that uses select(2) fails with descriptors from 1024 on.
      {RLIMIT_NOFILE, 1024, 524288},
      {RLIMIT_STACK, 8 * kMiB, RLIM_INFINITY},
      {RLIMIT_MEMLOCK, 8 * kMiB, 8 * kMiB},
      {RLIMIT_NICE, 0, 0},
      {RLIMIT_RTPRIO, 0, 0},
      {RLIMIT_NPROC, RLIM_INFINITY, RLIM_INFINITY},
      {RLIMIT_FSIZE, RLIM_INFINITY, RLIM_INFINITY},
      {RLIMIT_CPU, RLIM_INFINITY, RLIM_INFINITY},
      {RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY},
  };
  for (const Limit& limit : limits) {
    // Hard limits are only lowered: raising one needs a privilege on the host.
    rlimit value;
    ::getrlimit(limit.resource, &value);
    value.rlim_max = std::min(value.rlim_max, limit.hard);
    value.rlim_cur = std::min(value.rlim_max, limit.soft);
    if (::setrlimit(limit.resource, &value) != 0) {
      return absl::ErrnoToStatus(
          errno, absl::StrCat("setrlimit ", static_cast<int>(limit.resource)));
    }
  }
  return absl::OkStatus();
}

absl::Status BecomeFirstOomVictim() {
  return WriteSmallFile("/proc/self/oom_score_adj", kFirst);
}

absl::Status MakeFirstOomVictim(pid_t pid) {
  return WriteSmallFile(absl::StrCat("/proc/", pid, "/oom_score_adj"), kFirst);
}

absl::Status BecomeLateOomVictim() {
  constexpr int kLate = -900;
  constexpr char kPath[] = "/proc/self/oom_score_adj";
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(kPath));
  int present = 0;
  if (absl::SimpleAtoi(text, &present) && present <= kLate) {
    return absl::OkStatus();
  }
  return WriteSmallFile(kPath, absl::StrCat(kLate));
}

}  // namespace sandbox
