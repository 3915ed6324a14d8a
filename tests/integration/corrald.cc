#include "tests/integration/corrald.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "gtest/gtest.h"
#include "sandbox/base/log.h"
#include "tests/text_file.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr absl::Duration kPollInterval = absl::Milliseconds(10);

std::string ReadLink(const std::string& path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

std::vector<std::string> OpenFiles(pid_t pid) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator i(absl::StrCat("/proc/", pid, "/fd"), error), end;
       !error && i != end; i.increment(error)) {
    files.push_back(ReadLink(i->path()));
  }
  return files;
}

// Returns the processes and where each of their threads waits in the kernel.
std::string Describe(const std::vector<pid_t>& processes) {
  std::string text;
  for (const pid_t pid : processes) {
    const std::string entry = absl::StrCat("/proc/", pid);
    absl::StrAppend(&text, pid, " ", ReadFile(entry + "/cmdline"), "\n",
                    ReadFile(entry + "/status"));
    std::error_code error;
    for (fs::directory_iterator i(entry + "/task", error), end;
         !error && i != end; i.increment(error)) {
      absl::StrAppend(&text, i->path().filename().string(), "\n",
                      ReadFile(i->path().string() + "/stack"));
    }
  }
  return text;
}

// Returns 0 if the file does not exist.
ino_t InodeOf(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

}  // namespace

Corrald::Corrald(const std::string& configuration) {
  char path[] = "/tmp/corral-integration-XXXXXX";
  CHECK(::mkdtemp(path) != nullptr);
  directory_ = path;
  CHECK(::mkdir(workspace().c_str(), 0755) == 0);
  WriteFile(config_file(), configuration);
}

Corrald::~Corrald() {
  if (IsRunning()) {
    Kill();
  }
  for (const pid_t pid : Descendants()) {
    ::kill(pid, SIGKILL);
  }
  std::error_code error;
  fs::remove_all(directory_, error);
}

void Corrald::Launch(std::vector<std::string> arguments,
                     const std::vector<std::string>& wrapper) {
  arguments_ = arguments;
  arguments.insert(arguments.begin(), "./corrald");
  arguments.insert(arguments.begin(), wrapper.begin(), wrapper.end());
  process_ = std::make_unique<Process>(
      std::move(arguments), std::vector<std::string>{}, directory_ + "/log");
  process_->CloseInput();
}

std::vector<std::string> Corrald::UsualArguments() const {
  return {"--listen",        address(),  "--state-dir",
          state_directory(), "--config", config_file()};
}

void Corrald::Start() {
  Launch(UsualArguments());
  AwaitServing();
}

void Corrald::AwaitServing() {
  const std::shared_ptr<grpc::Channel> channel = Connect();
  while (IsRunning() &&
         !channel->WaitForConnected(std::chrono::system_clock::now() +
                                    std::chrono::milliseconds(50))) {
  }
  ASSERT_TRUE(IsRunning()) << log();
}

void Corrald::TakeOver() {
  const std::unique_ptr<Process> predecessor = std::move(process_);
  Launch({"--take-over", "--listen", address(), "--state-dir",
          state_directory(), "--config", config_file()});
  ASSERT_EQ(predecessor->Wait(), 0) << log();
  ASSERT_TRUE(IsRunning()) << log();
}

void Corrald::Kill() {
  NoteCgroups();
  process_->Signal(SIGKILL);
  process_->Wait();
}

void Corrald::End() {
  NoteCgroups();
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 0) << log();
  ExpectNothingLeft();
}

void Corrald::ExpectNothingLeft() {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!Descendants().empty() && absl::Now() < deadline) {
    absl::SleepFor(kPollInterval);
  }
  EXPECT_TRUE(Descendants().empty()) << Describe(Descendants());
  for (const auto& [path, inode] : cgroups_) {
    EXPECT_NE(InodeOf(path), inode) << path;
  }
  EXPECT_FALSE(absl::StrContains(ReadFile("/proc/self/mounts"), directory_));
  ExpectNoFilesLeft();
  EXPECT_FALSE(fs::exists(socket_path()));
}

// A server that stops does not wait long for a slow disk.
void Corrald::ExpectNoFilesLeft() {
  const std::set<std::string> left = SandboxDirectories();
  if (!left.empty()) {
    ASSERT_TRUE(absl::StrContains(log(), "the next server removes files"))
        << log();
    Launch(arguments_);
    AwaitRemoval(left);
    Signal(SIGTERM);
    EXPECT_EQ(Wait(), 0) << log();
  }
  EXPECT_THAT(SandboxDirectories(), ::testing::IsEmpty());
}

std::set<std::string> Corrald::SandboxDirectories() const {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator i(state_directory() + "/sandboxes", error), end;
       !error && i != end; i.increment(error)) {
    names.insert(i->path().filename().string());
  }
  EXPECT_FALSE(error) << error.message();
  return names;
}

void Corrald::AwaitRemoval(const std::set<std::string>& directories) const {
  const auto is_left = [&](const std::string& name) {
    return directories.count(name) > 0 || absl::StartsWith(name, ".removed-");
  };
  std::set<std::string> names = SandboxDirectories();
  while (IsRunning() && std::any_of(names.begin(), names.end(), is_left)) {
    absl::SleepFor(kPollInterval);
    names = SandboxDirectories();
  }
  EXPECT_TRUE(IsRunning()) << log();
}

std::shared_ptr<grpc::Channel> Corrald::Connect() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  return grpc::CreateCustomChannel(
      address(), grpc::InsecureChannelCredentials(), arguments);
}

std::string Corrald::log() const { return ReadFile(directory_ + "/log"); }

// They inherit the server's standard error; no other process does.
std::vector<pid_t> Corrald::Descendants() const {
  std::vector<pid_t> pids;
  std::error_code error;
  for (fs::directory_iterator i("/proc", error), end; !error && i != end;
       i.increment(error)) {
    const std::string entry = i->path();
    pid_t pid = 0;
    if (absl::SimpleAtoi(i->path().filename().string(), &pid) &&
        pid != ::getpid() && !(process_ && pid == process_->pid()) &&
        ReadLink(entry + "/fd/2") == directory_ + "/log") {
      pids.push_back(pid);
    }
  }
  return pids;
}

std::vector<pid_t> Corrald::Supervisors() const {
  std::vector<pid_t> supervisors = Descendants();
  supervisors.erase(
      std::remove_if(supervisors.begin(), supervisors.end(),
                     [](pid_t pid) {
                       return ReadFile(absl::StrCat("/proc/", pid, "/comm")) !=
                              "corral-supervis\n";
                     }),
      supervisors.end());
  return supervisors;
}

std::vector<pid_t> Corrald::BusySupervisors() const {
  std::vector<pid_t> busy;
  for (const pid_t pid : Supervisors()) {
    const std::vector<std::string> files = OpenFiles(pid);
    // An output log.
    if (std::any_of(files.begin(), files.end(), [this](const auto& file) {
          return absl::StartsWith(file, state_directory());
        })) {
      busy.push_back(pid);
    }
  }
  return busy;
}

void Corrald::KillBusySupervisors() const {
  for (const pid_t pid : BusySupervisors()) {
    ::kill(pid, SIGKILL);
  }
}

void Corrald::NoteCgroups() {
  for (const pid_t pid : Supervisors()) {
    for (const std::string& file : OpenFiles(pid)) {
      // The open file is the group's member list (v1) or the group itself (v2).
      const std::string group(absl::StripSuffix(file, "/tasks"));
      const ino_t inode = InodeOf(group);
      // A supervisor that starts opens the same files of the host's own groups,
      // and the roots of hierarchies, whose inode is 1.
      std::error_code error;
      if (absl::StartsWith(group, "/sys/fs/cgroup/") && inode > 1 &&
          fs::is_directory(group, error)) {
        cgroups_[group] = inode;
      }
    }
  }
}

}  // namespace tests
