// An output channel between a pipe that the test writes to and a log.

#ifndef SANDBOX_SUPERVISOR_OUTPUT_CHANNEL_FIXTURE_H_
#define SANDBOX_SUPERVISOR_OUTPUT_CHANNEL_FIXTURE_H_

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/output_channel.h"
#include "sandbox/supervisor/output_quota.h"
#include "sandbox/supervisor/storage_status.h"

namespace sandbox {

constexpr uint64_t kRetained = 1 << 16;

class OutputChannelFixture : public ::testing::Test {
 protected:
  void Open(wire::Stream kind, Overflow overflow,
            uint64_t retained = kRetained) {
    ::signal(SIGPIPE, SIG_IGN);
    std::string path = ::testing::TempDir() + "/outputXXXXXX";
    directory_ = ::mkdtemp(path.data());
    const auto file = ExecutionFile::Create(directory_ + "/e1");
    ASSERT_TRUE(file.ok()) << file.status();
    kind_ = kind;
    OutputLogWriter log(*file, kind);
    log.SetRetention(retained, overflow);
    int fds[2];
    ASSERT_EQ(::pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    command_.Reset(fds[1]);
    if (kind != wire::TERMINAL) {
      ASSERT_EQ(::fcntl(fds[0], F_SETFL, 0), 0);
    }
    OutputChannel::Callbacks callbacks;
    callbacks.changed = [this] {
      ++changes_;
      if (until_()) {
        loop_->Stop();
      }
    };
    callbacks.must_kill = [this](wire::ExitRecord::Cause cause) {
      kills_.push_back(cause);
    };
    channel_ = std::make_unique<OutputChannel>(
        OutputHost{loop_.get(), timers_ == nullptr ? loop_.get() : timers_,
                   &storage_, quota_.get()},
        kind, UniqueFd(fds[0]), std::move(log), std::move(callbacks));
  }
  // Writes as much as the pipe takes.
  size_t Print(const std::string& data) {
    const ssize_t taken = ::write(command_.get(), data.data(), data.size());
    return taken < 0 ? 0 : static_cast<size_t>(taken);
  }
  OutputLogReader Log() {
    return *OutputLogReader::Open(directory_ + "/e1", kind_);
  }
  std::string Text() {
    const OutputLogReader log = Log();
    std::string text(1 << 20, '\0');
    text.resize(*log.Read(log.state()->begin, text.data(), text.size()));
    return text;
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  // Null means the timers of the loop. Set it before Open().
  Timers* timers_ = nullptr;
  std::unique_ptr<OutputQuota> quota_ =
      std::make_unique<OutputQuota>(loop_.get());
  StorageStatus storage_{[this] { failures_.push_back(storage_.failure()); }};
  std::vector<std::string> failures_;
  std::vector<wire::ExitRecord::Cause> kills_;
  std::string directory_;
  wire::Stream kind_ = wire::STDOUT;
  UniqueFd command_;
  std::unique_ptr<OutputChannel> channel_;
  int changes_ = 0;
  // The loop ends when this returns true. It is called after each change.
  std::function<bool()> until_ = [] { return true; };
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_OUTPUT_CHANNEL_FIXTURE_H_
