#include "sandbox/supervisor/spawner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/base/fd_passing.h"

namespace sandbox {
namespace {

// The path that execvp(3) searches if there is no PATH.
constexpr absl::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// A large request touches pages beyond this, which are released afterwards.
constexpr size_t kKeptPages = size_t{64} << 10;

// The interval at which a start that is not answered is checked: the child may
// have been stopped.
constexpr absl::Duration kOverdue = absl::Milliseconds(20);

// Appends NUL-terminated strings to the exchange.
class StringWriter {
 public:
  explicit StringWriter(char* exchange) : exchange_(exchange) {}

  // Returns the string's offset.
  uint32_t Add(absl::string_view text) {
    const size_t at = end_;
    // Leaves room for the pointer table, which follows the strings.
    if (kExchangeSize - end_ < text.size() + 64) {
      full_ = true;
      return 0;
    }
    std::memcpy(exchange_ + at, text.data(), text.size());
    exchange_[at + text.size()] = '\0';
    end_ = at + text.size() + 1;
    return static_cast<uint32_t>(at);
  }
  size_t end() const { return end_; }
  bool full() const { return full_; }

 private:
  char* const exchange_;
  size_t end_ = kExchangeStrings;
  bool full_ = false;
};

// No errno is larger.
constexpr int32_t kMaxErrno = 4095;

bool IsKnown(SpawnStage stage) {
  switch (stage) {
    case SpawnStage::kNone:
    case SpawnStage::kCgroup:
    case SpawnStage::kClone:
    case SpawnStage::kPrepare:
    case SpawnStage::kChdir:
    case SpawnStage::kExec:
      return true;
  }
  return false;
}

// True for the process behind a pidfd that this process can wait for; false for
// another one, and for a descriptor that is no pidfd.
bool IsChild(const UniqueFd& pidfd) {
  siginfo_t info;
  return ::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info,
                  WEXITED | WNOHANG | WNOWAIT) == 0;
}

// A program that has taken the spawner over can send anything.
bool IsAnswer(const ReceivedPacket& packet, const SpawnAnswer& answer) {
  if (packet.size != sizeof(answer) || packet.bytes_lost ||
      packet.fds.size() > 1 || !IsKnown(answer.stage)) {
    return false;
  }
  const SpawnTimes& times = answer.times;
  if (times.taken_ns < 0 || times.executing_ns < 0 || times.executed_ns < 0) {
    return false;
  }
  const bool executes = answer.stage == SpawnStage::kNone;
  const bool has_error = answer.error > 0 && answer.error <= kMaxErrno;
  if (executes ? answer.error != 0 || packet.fds.empty() : !has_error) {
    return false;
  }
  return packet.fds.empty() || IsChild(packet.fds[0]);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spawner>> Spawner::Create(
    EventLoop* loop, UniqueFd socket, const UniqueFd& exchange,
    StoppedStart::IsKnown is_known, absl::AnyInvocable<void()> lost) {
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid()) {
    return absl::ErrnoToStatus(errno, "open /dev/null");
  }
  void* memory = ::mmap(nullptr, kExchangeSize, PROT_READ | PROT_WRITE,
                        MAP_SHARED, exchange.get(), 0);
  if (memory == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, "mmap(exchange)");
  }
  return std::unique_ptr<Spawner>(new Spawner(
      loop, std::move(socket), std::move(null), static_cast<char*>(memory),
      std::move(is_known), std::move(lost)));
}

Spawner::Spawner(EventLoop* loop, UniqueFd socket, UniqueFd null,
                 char* exchange, StoppedStart::IsKnown is_known,
                 absl::AnyInvocable<void()> lost)
    : loop_(loop),
      socket_(std::move(socket)),
      null_(std::move(null)),
      exchange_(exchange),
      lost_(std::move(lost)),
      stopped_(std::move(is_known)) {
  loop_->Watch(socket_.get(), EPOLLIN, [this](uint32_t) { OnAnswer(); });
}

Spawner::~Spawner() {
  loop_->Unwatch(socket_.get());
  ::munmap(exchange_, kExchangeSize);
}

void Spawner::Spawn(Job job) {
  jobs_.push_back(std::move(job));
  if (jobs_.size() == 1) {
    SendNext();
  }
}

bool Spawner::AfterAnswer(absl::AnyInvocable<void()> then) {
  if (jobs_.empty()) {
    return false;
  }
  after_answer_ = std::move(then);
  return true;
}

void Spawner::SendNext() {
  while (!jobs_.empty()) {
    Job& job = jobs_.front();
    const SpawnAnswer failure = Send(job);
    if (failure.error == 0) {
      return;
    }
    Job refused = std::move(job);
    jobs_.pop_front();
    refused.done(UniqueFd(), failure);
  }
}

SpawnAnswer Spawner::Send(const Job& job) {
  if (!Write(job)) {
    return {SpawnStage::kExec, E2BIG};
  }
  std::vector<int> fds;
  if (job.streams.size() < kStreamFds) {
    fds.push_back(null_.get());
  }
  for (const UniqueFd& stream : job.streams) {
    fds.push_back(stream.get());
  }
  fds.insert(fds.end(), job.group_fds.begin(), job.group_fds.end());
  const int refused = job.begin != nullptr ? job.begin() : 0;
  if (refused != 0) {
    return {SpawnStage::kCgroup, refused};
  }
  const char go = 'g';
  const bool sent = SendWithFds(socket_.get(), &go, 1, fds).ok();
  const int error = errno;
  if (sent) {
    stopped_.Begin();
    Watch();
    return {};
  }
  if (error == EPIPE || error == ECONNRESET) {
    // The spawner is gone, and the sandbox with it. Reported later, because the
    // caller is on the stack.
    end_timer_ = Timer(loop_, absl::ZeroDuration(), [this] { OnEnd(); });
    return {};
  }
  return {SpawnStage::kClone, error};
}

void Spawner::Watch() {
  overdue_ = Timer(loop_, kOverdue, [this] {
    stopped_.Free();
    Watch();
  });
}

void Spawner::OnEnd() {
  if (!ended_) {
    ended_ = true;
    overdue_.Cancel();
    loop_->Unwatch(socket_.get());
    lost_();
  }
}

bool Spawner::Write(const Job& job) {
  const wire::CommandSpec& command = *job.command;
  SpawnRequest request = {};
  request.argument_count = static_cast<uint32_t>(command.argv_size());
  request.environment_count = static_cast<uint32_t>(command.environment_size());
  request.group = job.group;
  request.terminal = command.terminal_rows() != 0 ? 1 : 0;
  request.traced = job.traced ? 1 : 0;
  request.user_id = UserIdOf(command);
  request.file_bytes = job.file_bytes;
  StringWriter writer(exchange_);
  writer.Add(command.working_directory());
  for (const std::string& argument : command.argv()) {
    writer.Add(argument);
  }
  uint32_t path = 0;
  constexpr absl::string_view kPath = "PATH=";
  for (const std::string& variable : command.environment()) {
    const uint32_t at = writer.Add(variable);
    if (absl::StartsWith(variable, kPath)) {
      path = at + static_cast<uint32_t>(kPath.size());
    }
  }
  request.strings_size = static_cast<uint32_t>(writer.end() - kExchangeStrings);
  const size_t pointers =
      8 * (size_t{request.argument_count} + request.environment_count + 2);
  if (writer.full() || writer.end() + 8 + pointers + 64 > kExchangeSize) {
    return false;
  }
  if (!absl::StrContains(command.argv(0), '/')) {
    // The default PATH, if needed, stands after the table, in the unused rest
    // of the exchange.
    const size_t behind = (writer.end() + 15) / 8 * 8 + pointers;
    if (path == 0) {
      std::memcpy(exchange_ + behind, kDefaultPath.data(), kDefaultPath.size());
      exchange_[behind + kDefaultPath.size()] = '\0';
      path = static_cast<uint32_t>(behind);
    }
    request.path_offset = path;
  }
  std::memcpy(exchange_, &request, sizeof(request));
  used_ = writer.end() + pointers;
  return true;
}

void Spawner::OnAnswer() {
  SpawnAnswer answer = {};
  if (!jobs_.empty()) {
    // If no descriptor is left, the kernel drops the pidfd of the packet, and
    // the command could not be waited for.
    jobs_.front().streams.clear();
  }
  absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(socket_.get(), &answer, sizeof(answer));
  if (!packet.ok()) {
    return;  // a transient error of the host; the spawner is still alive
  }
  if (jobs_.empty() || !IsAnswer(*packet, answer)) {
    OnEnd();
    return;
  }
  if (used_ > kKeptPages) {
    ::madvise(exchange_ + kKeptPages, kExchangeSize - kKeptPages, MADV_REMOVE);
  }
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  overdue_.Cancel();
  absl::AnyInvocable<void()> then = std::exchange(after_answer_, nullptr);
  // The next command may start while this answer is handled.
  SendNext();
  job.done(packet->fds.empty() ? UniqueFd() : std::move(packet->fds[0]),
           answer);
  if (then != nullptr) {
    then();
  }
}

}  // namespace sandbox
