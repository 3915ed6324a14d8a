// Attacks on files, mounts and /proc.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/attack_test.h"
#include "tests/attack/host_processes.h"

namespace tests {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(AttackTest, CannotReachTheHostsFiles) {
  Create();
  for (const char* path :
       {"/etc/shadow", "/etc/machine-id", "/etc/ssh", "/etc/hostname",
        "/etc/sudoers", "/var/lib", "/var/log", "/boot", "/srv", "/opt",
        "/sys/class", "/sys/devices", "/sys/kernel", "/sys/fs/bpf",
        "/run/corral", "/proc/1", "/proc/2"}) {
    EXPECT_THAT(Shell(absl::StrCat("ls ", path)),
                EndsWith("No such file or directory\n"))
        << path;
  }
  EXPECT_EQ(Shell("ls /run /var/run"), "/run:\n\n/var/run:\n");
  EXPECT_EQ(Shell("ls /sys /sys/fs"), "/sys:\nfs\n\n/sys/fs:\ncgroup\n");
  // Sees only the path to the workspace, not the files beside it.
  EXPECT_EQ(Shell(absl::StrCat("ls -a ", sandbox_.directory())),
            ".\n..\nwork\n");
  EXPECT_EQ(Shell("cat /etc/passwd | cut -d: -f1"), "root\ncorral\nnobody\n");
}

TEST_F(AttackTest, CannotWriteOutsideItsOwnDirectories) {
  Create();
  for (const char* path :
       {"/x", "/usr/x", "/usr/local/x", "/etc/x", "/dev/x", "/run/x", "/home/x",
        "/sys/x", "/sys/fs/cgroup/x", "/etc/passwd", "/usr/bin/id",
        "/etc/ld.so.cache", "/var/x"}) {
    EXPECT_THAT(Shell(absl::StrCat("echo x > ", path)),
                testing::AnyOf(HasSubstr("Read-only file system"),
                               HasSubstr("Permission denied")))
        << path;
  }
  EXPECT_FALSE(std::filesystem::exists("/usr/x"));
  for (const char* path : {"/tmp", "/var/tmp", "/dev/shm", "/home/corral"}) {
    EXPECT_EQ(Shell(absl::StrCat("echo x > ", path, "/x && echo wrote")),
              "wrote\n");
  }
  EXPECT_FALSE(std::filesystem::exists("/dev/shm/x"));
}

TEST_F(AttackTest, CannotLinkAHostsFileIntoItsWorkspace) {
  Create();
  EXPECT_THAT(Shell("ln /usr/bin/id id"), HasSubstr("cross-device link"));
  EXPECT_THAT(Shell("ln /etc/passwd /tmp/passwd"),
              HasSubstr("cross-device link"));
}

TEST_F(AttackTest, CannotMakeSetuidFilesForTheHost) {
  Create();
  const std::string report = Attack("setuid-bits");
  EXPECT_EQ(report,
            "chmod: EPERM\n"
            "chmod, setgid: EPERM\n"
            "chmod, high bits: EPERM\n"
            "fchmod: EPERM\n"
            "fchmodat: EPERM\n"
            "fchmodat2: ENOSYS\n"
            "creat: EPERM\n"
            "open: EPERM\n"
            "open, setgid: EPERM\n"
            "openat: EPERM\n"
            "openat, excl: EPERM\n"
            "open tmpfile: EPERM\n"
            "openat tmpfile: EPERM\n"
            "open half tmpfile: EPERM\n"
            "mknod: EPERM\n"
            "mknodat: EPERM\n"
            "security.capability: EINVAL\n"
            "trusted.x: EPERM\n"
            "mkdir: 0\n"
            "plain chmod: 0\n"
            "chown: EOVERFLOW\n");
  for (const auto& entry :
       std::filesystem::directory_iterator(sandbox_.workspace())) {
    struct stat status;
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & (S_ISUID | S_ISGID), 0u) << entry.path();
  }
}

TEST_F(AttackTest, CannotMakeSetgidFilesByRaces) {
  Create();
  EXPECT_EQ(Attack("setgid-races"), "file: 0\nfchmod: 0\ndirectory: 1\n");
}

TEST_F(AttackTest, MakesOnlyItsOwnDirectoriesSetgid) {
  ASSERT_EQ(::mkdir((sandbox_.workspace() + "/others").c_str(), 0777), 0);
  ASSERT_EQ(::chown((sandbox_.workspace() + "/others").c_str(), 1234, 1234), 0);
  Create();
  EXPECT_EQ(Shell("mkdir own; ln -s own link; ln -s /etc etc; chmod 2775 own; "
                  "chmod g+s link; mkdir own/inner; stat -c %a own own/inner"),
            "2775\n2755\n");
  for (const char* path :
       {"/", "/usr", "/etc", "etc", "/proc", "/proc/self", "/home", "others"}) {
    EXPECT_THAT(Shell(absl::StrCat("chmod 2775 ", path)),
                ::testing::AnyOf(HasSubstr("not permitted"),
                                 HasSubstr("Read-only file system"),
                                 HasSubstr("No such file")))
        << path;
  }
  EXPECT_EQ(Shell("mkdir -m 2770 new; install -d -m 2750 more; cp -a own copy; "
                  "python3 -c 'import os; os.chmod(\"more\", 0o2700, "
                  "follow_symlinks=False)'; stat -c %a new more copy"),
            "2770\n2700\n2775\n");
}

TEST_F(AttackTest, MakesNothingSetgidInProfileStrict) {
  spec().set_profile(sandbox::wire::SandboxSpec::STRICT);
  Create();
  EXPECT_THAT(Shell("mkdir own; chmod 2775 own"), HasSubstr("not permitted"));
}

TEST_F(AttackTest, CannotMakeOrFindDevices) {
  Create();
  EXPECT_EQ(Attack("devices"),
            "mknod mem: EPERM\n"
            "mknod null: EPERM\n"
            "mknod sda: EPERM\n"
            "mkfifo: 0\n"
            "/dev/mem: ENOENT\n"
            "/dev/kmsg: ENOENT\n"
            "/dev/kvm: ENOENT\n"
            "/dev/vsock: ENOENT\n"
            "/dev/fuse: ENOENT\n"
            "/dev/console: ENOENT\n"
            "/dev/loop0: ENOENT\n");
  EXPECT_EQ(Shell("stat -c '%n %F' /dev/* | grep -v link"),
            "/dev/full character special file\n"
            "/dev/null character special file\n"
            "/dev/pts directory\n"
            "/dev/random character special file\n"
            "/dev/shm directory\n"
            "/dev/tty character special file\n"
            "/dev/urandom character special file\n"
            "/dev/zero character special file\n");
}

TEST_F(AttackTest, InheritsOnlyItsThreeDescriptors) {
  Create();
  EXPECT_EQ(Attack("descriptors"), "0 /dev/null\n1 pipe\n2 pipe\n");
}

TEST_F(AttackTest, FindsNothingAboutTheHostInProc) {
  Create();
  // Masked by an empty file, or absent. Prints those that are neither.
  EXPECT_EQ(
      Shell(
          "cd /proc; for f in bootconfig buddyinfo cmdline config.gz consoles "
          "crypto diskstats dma interrupts iomem ioports kallsyms kcore "
          "key-users keys kmsg kpagecount locks mdstat misc modules mtrr "
          "partitions sched_debug schedstat slabinfo softirqs "
          "sys/fs/dentry-state sys/fs/file-nr sys/fs/inode-nr "
          "sys/kernel/pty/nr timer_list vmallocinfo vmstat zoneinfo; "
          "do head -c 1 $f 2>/dev/null | grep -aq '' && echo $f; done; "
          "for d in acpi asound bus driver dynamic_debug fs irq pressure "
          "scsi; do ls -A $d 2>/dev/null | grep -q . && echo $d; done; "
          "echo done"),
      "done\n");
}

TEST_F(AttackTest, FindsNeitherTheLoadNorTheBootOfTheHost) {
  Create();
  EXPECT_EQ(Shell("cat /proc/loadavg"), "0.00 0.00 0.00 1/1 1\n");
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  ASSERT_NE(boot_id, "");
  const std::string own = Shell("cat /proc/sys/kernel/random/boot_id");
  EXPECT_EQ(own.size(), boot_id.size() + 1);
  EXPECT_THAT(own, Not(HasSubstr(boot_id)));
}

TEST_F(AttackTest, FindsInProcWhatToolsNeed) {
  Create();
  EXPECT_EQ(Shell("cd /proc; for f in cpuinfo filesystems loadavg meminfo "
                  "mounts self/status stat uptime version; "
                  "do grep -q . $f || echo $f is empty; done; "
                  "ps -A >/dev/null && free >/dev/null && uptime >/dev/null && "
                  "top -b -n 1 >/dev/null && nproc >/dev/null && echo done"),
            "done\n");
}

TEST_F(AttackTest, CannotChangeTheKernelsSettings) {
  Create();
  for (const char* name :
       {"sys/kernel/core_pattern", "sys/kernel/hostname", "sys/vm/drop_caches",
        "sysrq-trigger", "irq/default_smp_affinity",
        "sys/net/ipv4/ip_forward"}) {
    EXPECT_THAT(Shell(absl::StrCat("echo x > /proc/", name)),
                testing::AnyOf(HasSubstr("Read-only file system"),
                               HasSubstr("Permission denied"),
                               HasSubstr("nonexistent")))
        << name;
  }
}

TEST_F(AttackTest, SeesLittleOfTheHost) {
  Create();
  EXPECT_EQ(Shell("hostname"), "corral\n");
  EXPECT_EQ(Shell("getent hosts corral | cut -d' ' -f1"), "127.0.0.1\n");
  EXPECT_THAT(Shell("cat /etc/machine-id"), HasSubstr("No such file"));
  EXPECT_EQ(Shell("cat /proc/sys/kernel/domainname"), "(none)\n");
}

// See CVE-2019-5736: between vfork and exec a child still executes corral-init.
TEST_F(AttackTest, CannotGetHoldOfTheProgramOfInit) {
  Create();
  // The names of these links select the roles of the program.
  Shell(
      "ln -s /proc/self/exe corral-init; "
      "ln -s /proc/self/exe corral-spawner");
  Shell("printf '#!/proc/self/exe\\n' > script; chmod +x script");
  EXPECT_EQ(sandbox_.Run(sandbox_.Command("self", {"/proc/self/exe"}))
                .exit()
                .wait_status(),
            2 << 8);
  EXPECT_EQ(
      sandbox_
          .Run(sandbox_.Command("script", {sandbox_.workspace() + "/script"}))
          .exit()
          .wait_status(),
      2 << 8);
  auto role = [this](const std::string& name) {
    sandbox::wire::StartExecution start = sandbox_.Command(name, {name});
    start.mutable_command()->clear_environment();
    start.mutable_command()->add_environment("PATH=" + sandbox_.workspace());
    return start;
  };
  EXPECT_NE(sandbox_.Run(role("corral-spawner")).exit().wait_status(), 0);
  // The command stays, like any other command.
  ASSERT_TRUE(sandbox_.Start(role("corral-init")).ok());
  EXPECT_EQ(Shell("readlink /proc/[0-9]*/exe | grep -c corral-init"), "0\n");
  ExpectUsable();
}

TEST_F(AttackTest, SurvivesNamesAndDepthsThatBreakTools) {
  Create();
  EXPECT_EQ(Shell("cd /tmp; $OLDPWD/attack deep-directory"), "levels: 10000\n");
  EXPECT_EQ(Shell("mkdir \"$(printf 'a\\nb\\377')\" && "
                  "touch $(head -c 255 /dev/zero | tr '\\0' x) && echo made"),
            "made\n");
  EXPECT_EQ(Attack("inodes 5000"), "made: 5000\n");
  EXPECT_TRUE(sandbox_.Delete().ok());
}

}  // namespace
}  // namespace tests
