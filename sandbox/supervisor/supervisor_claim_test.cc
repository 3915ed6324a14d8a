// A sandbox as its request describes it, and as its commands find it.

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/supervisor.h"
#include "sandbox/supervisor/supervisor_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;

// The supervisor is started by a process with a mask and limits of its own.
class SupervisorClaimTest : public SupervisorTest {
 protected:
  SupervisorClaimTest() {
    std::string path = "/var/tmp/corral-claim-XXXXXX";
    host_ = ::mkdtemp(path.data());
    mask_ = ::umask(077);
    ::getrlimit(RLIMIT_NOFILE, &files_);
    const rlimit more = {std::min<rlim_t>(files_.rlim_max, 5000),
                         files_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &more);
  }
  ~SupervisorClaimTest() override {
    ::setrlimit(RLIMIT_NOFILE, &files_);
    ::umask(mask_);
    std::filesystem::remove_all(host_);
  }
  // Makes a directory of the host with a file that has its name.
  std::string Lend(const std::string& name) {
    const std::string path = host_ + "/" + name;
    std::filesystem::create_directory(path);
    std::ofstream(path + "/file") << name << "\n";
    return path;
  }
  // The first line of a file, or nothing if there is none.
  static std::string LineOf(const std::string& path) {
    std::string line;
    std::getline(std::ifstream(path), line);
    return line;
  }

  // A directory of the host.
  std::string host_;
  mode_t mask_ = 0;
  rlimit files_ = {};
};

TEST_F(SupervisorClaimTest, LendsItsWorkspacesAndMounts) {
  const wire::Reply created = Create([this](wire::SandboxSpec& spec) {
    spec.set_workspace(Lend("work"));
    for (const bool read_only : {false, true}) {
      auto* const further = spec.add_further_workspaces();
      further->set_path(Lend(read_only ? "read" : "write"));
      further->set_read_only(read_only);
      auto* const mount = spec.add_mounts();
      mount->set_source(Lend(read_only ? "mount-read" : "mount-write"));
      mount->set_target(read_only ? "/opt/read" : "/opt/write");
      mount->set_writable(!read_only);
    }
  });
  if (absl::StrContains(created.message(), "no idmapped mounts")) {
    GTEST_SKIP() << created.message();  // such as tmpfs before Linux 6.3
  }
  ASSERT_EQ(created.failure(), wire::Reply::NONE) << created.message();
  EXPECT_EQ(Run("e1", absl::StrCat(
                          "cd ", host_,
                          " && for d in work write read /opt/write /opt/read; "
                          "do cat $d/file; : 2>/dev/null > $d/new && echo new; "
                          "done; :")),
            0);
  EXPECT_EQ(Output("e1"),
            "work\nnew\nwrite\nnew\nread\nmount-write\nnew\nmount-read\n");
}

TEST_F(SupervisorClaimTest, LendsAWorkspaceToBeReadOnly) {
  const wire::Reply created = Create([this](wire::SandboxSpec& spec) {
    spec.set_workspace(Lend("work"));
    spec.set_workspace_read_only(true);
  });
  if (absl::StrContains(created.message(), "no idmapped mounts")) {
    GTEST_SKIP() << created.message();
  }
  ASSERT_EQ(created.failure(), wire::Reply::NONE) << created.message();
  EXPECT_EQ(
      Run("e1", absl::StrCat("cat ", host_, "/work/file; : 2>/dev/null > ",
                             host_, "/work/new && echo new; :")),
      0);
  EXPECT_EQ(Output("e1"), "work\n");
}

TEST_F(SupervisorClaimTest, LimitsAllCommandsTogether) {
  ASSERT_EQ(Create([](wire::SandboxSpec& spec) {
              spec.set_memory_bytes(uint64_t{64} << 20);
              spec.set_pids(50);
              spec.set_cpu_millis(500);
            }).failure(),
            wire::Reply::NONE);
  // The files of either version.
  const std::map<std::string, std::string> limits = {
      {"memory.limit_in_bytes", "67108864"},
      {"memory.max", "67108864"},
      {"pids.max", "50"},
      {"cpu.cfs_quota_us", "50000"},
      {"cpu.max", "50000 100000"},
  };
  const std::string name = GroupName();
  const CgroupHost host = *CgroupHost::Find();
  int found = 0;
  for (const std::string& parent : host.parents) {
    // The group of the first command is made before the limits are known.
    for (const char* group : {"/run/", "/run/e-0/"}) {
      for (const auto& [file, limit] : limits) {
        const std::string path =
            absl::StrCat(parent, "/corral/", name, group, file);
        if (std::filesystem::exists(path)) {
          EXPECT_EQ(LineOf(path), limit) << path;
          ++found;
        }
      }
    }
  }
  EXPECT_EQ(found, 6);
  // Files in memory may take five eighths of it.
  EXPECT_EQ(Run("e1", "stat -f -c %b:%S /tmp"), 0);
  EXPECT_EQ(Output("e1"), "10240:4096\n");
}

TEST_F(SupervisorClaimTest, DoesItsWorkInTheCpuTimeOfTheSandbox) {
  ASSERT_EQ(Create([](wire::SandboxSpec& spec) {
              spec.set_cpu_millis(500);
            }).failure(),
            wire::Reply::NONE);
  const std::string name = GroupName();
  for (const pid_t pid : {pid_, AwaitChild("corral-modes")}) {
    std::ifstream file(absl::StrCat("/proc/", pid, "/cgroup"));
    const std::string groups(std::istreambuf_iterator<char>(file), {});
    EXPECT_TRUE(absl::StrContains(groups, "/corral/" + name)) << groups;
  }
  const CgroupHost host = *CgroupHost::Find();
  int found = 0;
  for (const std::string& parent : host.parents) {
    const std::string path = absl::StrCat(parent, "/corral/", name);
    for (const char* limit : {"/cpu.cfs_quota_us", "/cpu.max"}) {
      if (std::filesystem::exists(path + limit)) {
        EXPECT_EQ(LineOf(path + limit).substr(0, 5), "50000");
        ++found;
      }
    }
  }
  EXPECT_EQ(found, 1);
  // It leaves the group before it removes it.
  EXPECT_EQ(Run("e1", "head -c 10M /dev/zero; exit 3"), 3 << 8);
  EXPECT_EQ(End(), 7 << 8);
  EXPECT_EQ(Cgroup::List(host).count(name), 0u);
  std::filesystem::remove_all(directory_);
}

TEST_F(SupervisorClaimTest, NamesTheLackOfMemory) {
  ASSERT_EQ(Create([](wire::SandboxSpec& spec) {
              spec.set_memory_bytes(uint64_t{32} << 20);
            }).failure(),
            wire::Reply::NONE);
  // The shell keeps in memory what it reads.
  EXPECT_EQ(Run("e1", "x=$(head -c 200M /dev/zero | tr '\\0' x); echo ${#x}"),
            SIGKILL);
  EXPECT_EQ(AwaitEnd("e1").exit().cause(), wire::ExitRecord::OUT_OF_MEMORY);
}

TEST_F(SupervisorClaimTest, LimitsTheSizeOfFiles) {
  ASSERT_EQ(Create([](wire::SandboxSpec& spec) {
              spec.set_file_bytes(1 << 20);
            }).failure(),
            wire::Reply::NONE);
  EXPECT_EQ(Run("e1", "exec head -c 2M /dev/zero > /tmp/file"), SIGXFSZ);
  EXPECT_EQ(AwaitEnd("e1").exit().cause(), wire::ExitRecord::NORMAL);
  // A program that ignores the signal gets an error.
  EXPECT_EQ(Run("e2",
                "stat -c %s /tmp/file; trap '' XFSZ; "
                "exec head -c 2M /dev/zero > /tmp/other"),
            1 << 8);
  EXPECT_EQ(Output("e2"), "1048576\n");
}

TEST_F(SupervisorClaimTest, KeepsNoMoreOutputThanItMay) {
  ASSERT_EQ(Create([](wire::SandboxSpec& spec) {
              spec.set_output_bytes(1 << 20);
            }).failure(),
            wire::Reply::NONE);
  for (const char* id : {"e1", "e2"}) {
    EXPECT_EQ(Run(id, "head -c 900000 /dev/zero"), 0);
    EXPECT_EQ(AwaitEnd(id).streams(0).end(), 900000u);
  }
  const std::string executions = directory_ + "/executions/";
  EXPECT_TRUE(
      OutputLogReader::Open(executions + "e1", wire::STDOUT)->state()->expired);
  EXPECT_FALSE(
      OutputLogReader::Open(executions + "e2", wire::STDOUT)->state()->expired);
}

TEST_F(SupervisorClaimTest, GivesCommandsNothingOfWhatItsServerHas) {
  // An earlier attempt may have left it.
  std::filesystem::create_directory(directory_ + "/executions");
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  EXPECT_EQ(Run("e1",
                "umask; ulimit -S -n; cat /proc/sys/kernel/hostname; "
                "exec grep -E '^Sig(Blk|Ign)' /proc/self/status"),
            0);
  EXPECT_EQ(Output("e1"),
            "0022\n1024\ncorral\n"
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(SupervisorClaimTest, ReportsThatTheDiskRefusesFilesUntilItTakesThem) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  const std::string executions = directory_ + "/executions";
  std::filesystem::rename(executions, executions + ".away");
  EXPECT_EQ(Start("e1", "true").failure(), wire::Reply::STORAGE);
  wire::FromSupervisor message;
  while (!message.has_storage()) {
    ASSERT_TRUE(Receive(&message));
  }
  EXPECT_THAT(message.storage().failure(), HasSubstr("files of executions"));
  std::filesystem::rename(executions + ".away", executions);
  do {
    ASSERT_TRUE(Receive(&message));
  } while (!message.has_storage());
  EXPECT_EQ(message.storage().failure(), "");
  EXPECT_EQ(Run("e2", "exit 4"), 4 << 8);
}

}  // namespace
}  // namespace sandbox
