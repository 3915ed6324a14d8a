// Builds the tree of a sandbox in a process with namespaces of its own, and
// looks at it from there.

#include "sandbox/kernel/mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/mount_api.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The mounts of this process, as lines "PLACE TYPE OPTIONS".
std::string MountLines() {
  std::vector<std::string> lines;
  const std::string text = ReadAll("/proc/self/mountinfo");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    for (size_t i = 6; i + 1 < words.size(); ++i) {
      if (words[i] == "-") {
        lines.push_back(
            absl::StrCat(words[4], " ", words[i + 1], " ", words[5]));
        break;
      }
    }
  }
  return absl::StrJoin(lines, "\n") + "\n";
}

// "644 0:0", or where a link leads.
std::string Describe(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) {
    return "none";
  }
  char target[256];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof(target));
  return size > 0 ? std::string(target, static_cast<size_t>(size))
                  : absl::StrCat(absl::Hex(status.st_mode >> 9 & 7),
                                 status.st_mode >> 6 & 7,
                                 status.st_mode >> 3 & 7, status.st_mode & 7,
                                 " ", status.st_uid, ":", status.st_gid);
}

class MountsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }

  // Returns the text of `look` in a process whose root is a new tree.
  static std::string InTree(
      const std::function<std::string(const SandboxTree&)>& look) {
    return InNamespaces([&look] {
      const absl::StatusOr<HostTrees> host = Gather();
      const absl::StatusOr<SandboxTree> tree =
          host.ok() ? Build(*host) : host.status();
      return tree.ok() ? look(*tree) : tree.status().ToString();
    });
  }
  // Returns why no tree can be built where a system call fails.
  static std::string BuildWithout(int call) {
    return InNamespaces([call] {
      const absl::StatusOr<HostTrees> host = Gather();
      std::string text = host.status().ToString();
      if (host.ok()) {
        (void)tests::WithFailingCalls({call}, EIO, [&] {
          text = std::string(Build(*host).status().message());
        });
      }
      return text;
    });
  }

 private:
  // Returns the text of `make` in a process with mounts and processes of its
  // own.
  static std::string InNamespaces(const std::function<std::string()>& make) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    const pid_t parent = ::fork();
    if (parent == 0) {
      ::_exit(::unshare(CLONE_NEWNS | CLONE_NEWPID) == 0
                  ? MakeInChild(writer.get(), make)
                  : 1);
    }
    writer.Reset();
    std::string text;
    char part[4096];
    for (ssize_t got; (got = ::read(reader.get(), part, sizeof(part))) > 0;) {
      text.append(part, static_cast<size_t>(got));
    }
    ::waitpid(parent, nullptr, 0);
    return text;
  }

  static int MakeInChild(int writer, const std::function<std::string()>& make) {
    const pid_t child = ::fork();
    if (child != 0) {
      ::waitpid(child, nullptr, 0);
      return 0;
    }
    const std::string text = make();
    ::_exit(::write(writer, text.data(), text.size()) < 0 ? 1 : 0);
  }
};

TEST_F(MountsTest, HasTheMountsOfASandboxAndNoOthers) {
  const std::string mounts =
      InTree([](const SandboxTree&) { return MountLines(); });
  EXPECT_THAT(mounts, HasSubstr("/ tmpfs ro,nosuid,nodev"));
  EXPECT_THAT(mounts, HasSubstr("\n/proc proc rw,nosuid,nodev,noexec"));
  EXPECT_THAT(mounts, HasSubstr("\n/dev/pts devpts rw,nosuid,noexec"));
  for (const char* scratch : {"/tmp", "/var/tmp", "/dev/shm", "/home/corral"}) {
    EXPECT_THAT(mounts, HasSubstr(absl::StrCat("\n", scratch,
                                               " tmpfs rw,nosuid,nodev")));
  }
  for (const absl::string_view line :
       absl::StrSplit(mounts, '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "/usr ") || absl::StartsWith(line, "/etc/")) {
      EXPECT_TRUE(absl::StrContains(line, " ro,nosuid,nodev")) << line;
    } else if (absl::StartsWith(line, "/dev/null ") ||
               absl::StartsWith(line, "/dev/zero ")) {
      EXPECT_TRUE(absl::StrContains(line, "nosuid")) << line;
      EXPECT_TRUE(absl::StrContains(line, "noexec")) << line;
      EXPECT_FALSE(absl::StrContains(line, "nodev")) << line;
    }
  }
  EXPECT_THAT(mounts,
              AllOf(HasSubstr("/usr "), HasSubstr("\n/dev/null "),
                    HasSubstr("\n/proc/sys proc ro"),
                    Not(HasSubstr("\n/home ")), Not(HasSubstr("\n/sys "))));
}

TEST_F(MountsTest, MasksFilesAndDirectoriesOfProc) {
  EXPECT_EQ(InTree([](const SandboxTree&) {
              struct stat null;
              struct stat masked;
              ::stat("/dev/null", &null);
              ::stat("/proc/kallsyms", &masked);
              size_t entries = 0;
              DIR* const irq = ::opendir("/proc/irq");
              while (irq != nullptr && ::readdir(irq) != nullptr) {
                ++entries;
              }
              const int written = ::open("/proc/irq/x", O_WRONLY | O_CREAT, 0);
              return absl::StrCat(null.st_rdev == masked.st_rdev, " ", entries,
                                  " ", written < 0 && errno == EROFS);
            }),
            "1 2 1");
}

TEST_F(MountsTest, MakesUpTheLoadAndTheBootOfTheHost) {
  const auto look = [](const SandboxTree&) {
    return absl::StrCat(ReadAll("/proc/loadavg"), Describe("/proc/loadavg"),
                        " ", Describe("/draft"), "\n",
                        ReadAll("/proc/sys/kernel/random/boot_id"));
  };
  const std::string first = InTree(look);
  constexpr char kFirst[] = "0.00 0.00 0.00 1/1 1\n0444 0:0 none\n";
  EXPECT_THAT(first, MatchesRegex(absl::StrCat(
                         kFirst,
                         "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
                         "\n")));
  EXPECT_THAT(first,
              Not(HasSubstr(ReadAll("/proc/sys/kernel/random/boot_id"))));
  EXPECT_NE(InTree(look), first);
}

TEST_F(MountsTest, HidesHowManyObjectsTheHostHas) {
  EXPECT_EQ(
      InTree([](const SandboxTree&) {
        std::string text;
        for (const char* name : {"fs/dentry-state", "fs/file-nr", "fs/inode-nr",
                                 "fs/inode-state", "kernel/pty/nr"}) {
          text += ReadAll(absl::StrCat("/proc/sys/", name));
        }
        return text + ReadAll("/proc/sys/kernel/ostype");
      }),
      "Linux\n");
}

TEST_F(MountsTest, MakesTheFilesAndLinksOfItsOwn) {
  EXPECT_EQ(
      InTree([](const SandboxTree&) {
        std::string text;
        for (const char* path :
             {"/dev/ptmx", "/dev/fd", "/dev/stdin", "/dev/stdout",
              "/dev/stderr", "/etc/mtab", "/var/run", "/etc/passwd",
              "/etc/chromium.d/README", "/etc/resolv.conf", "/usr", "/etc",
              "/run", "/tmp", "/var/tmp", "/dev/shm", "/home/corral",
              "/home"}) {
          absl::StrAppend(&text, Describe(path), "\n");
        }
        return text;
      }),
      "pts/ptmx\n/proc/self/fd\n/proc/self/fd/0\n/proc/self/fd/1\n"
      "/proc/self/fd/2\n/proc/mounts\n/run\n0444 0:0\n0444 0:0\n0444 0:0\n"
      "0755 0:0\n0755 0:0\n0755 0:0\n1777 0:0\n1777 0:0\n1777 0:0\n"
      "0755 1000:1000\n0755 0:0\n");
  EXPECT_EQ(InTree([](const SandboxTree&) { return ReadAll("/etc/group"); }),
            "root:x:0:\ntty:x:5:\ncorral:x:1000:\nnogroup:x:65534:\n");
  struct stat bin;
  ASSERT_EQ(::lstat("/bin", &bin), 0);
  EXPECT_EQ(InTree([](const SandboxTree&) { return Describe("/bin"); }),
            Describe("/bin"));
}

TEST_F(MountsTest, HasTerminalsThatBelongToTheUserWhoOpensThem) {
  EXPECT_EQ(InTree([](const SandboxTree&) {
              std::vector<UniqueFd> masters;
              do {
                ::setfsuid(masters.empty() ? 1234 : 0);
                masters.emplace_back(
                    ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
              } while (masters.back().valid() && masters.size() < 1000);
              const bool full = errno == ENOSPC;
              return absl::StrCat(masters.size() - 1, " ", full, " ",
                                  Describe("/dev/pts/0"), " ",
                                  Describe("/dev/pts/ptmx"));
            }),
            "64 1 0600 1234:0 0666 0:0");
}

TEST_F(MountsTest, HoldsLittleBesideTheScratchSpaceAndHidesProcesses) {
  EXPECT_THAT(InTree([](const SandboxTree&) {
                struct statvfs root;
                ::statvfs("/", &root);
                return absl::StrCat(root.f_blocks * root.f_frsize, "\n",
                                    ReadAll("/proc/self/mountinfo"));
              }),
              AllOf(StartsWith("1048576\n"), HasSubstr("hidepid=invisible")));
}

TEST_F(MountsTest, LeavesTheProcessInTheNewRootWithAUsualMask) {
  EXPECT_EQ(InTree([](const SandboxTree&) {
              return absl::StrCat(std::filesystem::current_path().string(), " ",
                                  ::umask(0));
            }),
            "/ 18");
}

TEST_F(MountsTest, LimitsTheScratchSpaceTogether) {
  EXPECT_EQ(InTree([](const SandboxTree& tree) {
              const absl::Status limited =
                  LimitScratch(tree.root.get(), uint64_t{80} << 20);
              std::string text = limited.ToString();
              for (const char* path : {"/tmp", "/home/corral"}) {
                struct statvfs space;
                ::statvfs(path, &space);
                absl::StrAppend(&text, " ", space.f_blocks * space.f_frsize,
                                " ", space.f_files);
              }
              return text;
            }),
            "OK 52428800 12800 52428800 12800");
}

TEST_F(MountsTest, ReplacesFilesOfEtcAndStaysReadOnly) {
  EXPECT_EQ(
      InTree([](const SandboxTree& tree) {
        const absl::Status replaced = ReplaceEtc(
            tree.root.get(),
            {{"etc/resolv.conf", "nameserver x\n"}, {"etc/shells", "s\n"}});
        const bool denied =
            ::open("/etc/new", O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS;
        return absl::StrCat(replaced.ToString(), " ",
                            ReadAll("/etc/resolv.conf"), ReadAll("/etc/shells"),
                            denied);
      }),
      "OK nameserver x\ns\n1");
  EXPECT_THAT(
      InTree([](const SandboxTree& tree) {
        return ReplaceEtc(tree.root.get(), {{"etc/none", "x"}}).ToString();
      }),
      HasSubstr("write etc/none"));
}

TEST_F(MountsTest, UncoversProc) {
  EXPECT_THAT(InTree([](const SandboxTree& tree) {
                const absl::Status uncovered = UncoverProc(tree.root.get());
                return uncovered.ToString() + "\n" + MountLines();
              }),
              AllOf(HasSubstr("OK\n"), HasSubstr("\n/proc proc "),
                    Not(HasSubstr("\n/proc/"))));
}

TEST_F(MountsTest, AttachesATreeWhereItsPathIsFree) {
  const std::string target = "/srv/deep/work";
  const auto attach = [](const std::string& path, const SandboxTree& tree) {
    absl::StatusOr<UniqueFd> copy = CopyTree(AT_FDCWD, "/tmp");
    const HostTree lent = {*std::move(copy), path, true};
    // Whatever the mask of the process that attaches it.
    ::umask(077);
    const absl::Status attached = Attach(tree.root.get(), lent);
    return std::string(attached.message());
  };
  EXPECT_EQ(InTree([&](const SandboxTree& tree) {
              const std::string attached = attach(target, tree);
              return absl::StrCat(
                  attached, " ", Describe("/srv/deep"), " ",
                  absl::StrContains(MountLines(), "\n/srv/deep/work tmpfs rw"),
                  " ", ::mkdir("/srv/x", 0755) < 0 && errno == EROFS);
            }),
            " 0755 0:0 1 1");
  EXPECT_THAT(
      InTree([&](const SandboxTree& tree) {
        return attach("/etc/passwd/x", tree);
      }),
      AllOf(HasSubstr("workspace /etc/passwd/x: a sandbox has no place for it"),
            HasSubstr("choose a directory elsewhere")));
  EXPECT_THAT(InTree([&](const SandboxTree& tree) {
                return attach("/usr/none/x", tree);
              }),
              HasSubstr("(make usr/none: Read-only file system)"));
}

TEST_F(MountsTest, NamesTheStepThatTheHostRefuses) {
  const std::pair<int, const char*> steps[] = {
      {SYS_mount, "make the mounts private: "},
      {SYS_mkdirat, "mkdir usr: "},
#ifndef __SANITIZE_ADDRESS__
      // UBSan writes to look at the first object of a class.
      {SYS_write, "write etc/passwd: "},
#endif
      {SYS_symlinkat, "symlink "},
      {SYS_fchownat, "mkdir tmp: "},
      {SYS_umount2, "pivot_root: "},
      {SYS_mknodat, "make "},
      {SYS_unlinkat, "unlink draft: "},
      {SYS_read, "read proc/sys/kernel/random/uuid: "},
      {SYS_pivot_root, "pivot_root: "}};
  for (const auto& [call, step] : steps) {
    EXPECT_THAT(BuildWithout(call), StartsWith(step)) << call;
  }
}

TEST_F(MountsTest, NamesTheCoverThatItCannotRemove) {
  EXPECT_THAT(std::string(UncoverProc(-1).message()),
              StartsWith("enter the root: "));
  EXPECT_THAT(InTree([](const SandboxTree& tree) {
                std::string text;
                (void)tests::WithFailingCalls({SYS_umount2}, EPERM, [&] {
                  text = std::string(UncoverProc(tree.root.get()).message());
                });
                return text;
              }),
              StartsWith("umount proc/loadavg: "));
}

}  // namespace
}  // namespace sandbox
