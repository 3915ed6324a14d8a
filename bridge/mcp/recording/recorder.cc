#include "bridge/mcp/recording/recorder.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/terminal/random_hex.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr size_t kIdDigits = 16;
constexpr double kMillis = 1000;

int64_t NowMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string DefaultDirectory() {
  const std::string chosen = Variable("TERMINAL_MCP_RECORD_DIR");
  if (!chosen.empty()) {
    return chosen;
  }
  const std::string state = Variable("XDG_STATE_HOME");
  return absl::StrCat(
      state.empty() ? absl::StrCat(Variable("HOME"), "/.local/state") : state,
      "/terminal-mcp/recordings");
}

std::string TemporaryDirectory() {
  const std::string chosen = Variable("TMPDIR");
  return chosen.empty() ? "/tmp" : chosen;
}

}  // namespace

const char* StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kExplicit:
      return "explicit";
    case StopReason::kSessionExit:
      return "session_exit";
    case StopReason::kMaxDuration:
      return "max_duration";
    case StopReason::kInactivity:
      return "inactivity";
    case StopReason::kServerShutdown:
      return "server_shutdown";
  }
  return "";
}

Recorder::Recorder(uint32_t columns, uint32_t rows)
    : columns_(columns), rows_(rows), thread_([this] { WatchTime(); }) {}

Recorder::~Recorder() {
  Finalize();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Recorder::Finalize() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (active_.has_value()) {
    finished_.insert(active_->recording.id);
    Finish(StopReason::kServerShutdown, std::nullopt);
  }
}

absl::StatusOr<Recording> Recorder::Start(const RecordingOptions& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (active_.has_value()) {
    return absl::AlreadyExistsError("A recording is already in progress");
  }
  const std::string directory =
      options.directory.empty() ? DefaultDirectory() : options.directory;
  RETURN_IF_ERROR(MakeDirectories(directory));
  const int64_t now = NowMillis();
  Recording recording;
  recording.id = RandomHex(kIdDigits);
  recording.options = options;
  recording.path =
      absl::StrCat(directory, absl::EndsWith(directory, "/") ? "" : "/",
                   "terminal-", now, "-", recording.id, ".cast");
  const uint32_t columns =
      options.first.has_value() ? options.first->columns : columns_;
  const uint32_t rows = options.first.has_value() ? options.first->rows : rows_;
  ASSIGN_OR_RETURN(CastFile file,
                   CastFile::Create(absl::StrCat(TemporaryDirectory(),
                                                 "/terminal-mcp-recording-",
                                                 recording.id, ".cast"),
                                    columns, rows, now / 1000));
  active_.emplace(Active{recording, std::move(file), now, now, now});
  if (options.first.has_value()) {
    AddFirstScreen();
  }
  changed_.notify_all();
  return recording;
}

void Recorder::AddFirstScreen() {
  const FirstScreen& first = *active_->recording.options.first;
  const std::string since = first.since(first.offset);
  active_->first_offset = first.offset + since.size();
  active_->has_events = true;
  active_->file.AddOutput(0, absl::StrCat(first.redraw, since));
}

absl::StatusOr<RecordingResult> Recorder::Stop(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (finished_.count(id) > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("Recording already finalized: ", id));
  }
  if (!active_.has_value() || active_->recording.id != id) {
    return absl::NotFoundError(absl::StrCat("Recording not found: ", id));
  }
  // Counts as a success of the shell: with only_failures, nothing is saved.
  return Finish(StopReason::kExplicit, 0);
}

std::optional<Recording> Recorder::active() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return active_.has_value() ? std::optional<Recording>(active_->recording)
                             : std::nullopt;
}

void Recorder::OnOutput(const std::string& terminal, uint64_t offset,
                        absl::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (active_.has_value()) {
    const auto& first = active_->recording.options.first;
    if (first.has_value() && first->terminal == terminal &&
        offset < active_->first_offset) {
      bytes.remove_prefix(
          std::min<uint64_t>(active_->first_offset - offset, bytes.size()));
      if (bytes.empty()) {
        return;
      }
    }
    GoOn();
    active_->last_output_ms = active_->last_event_ms;
    active_->file.AddOutput(active_->seconds, bytes);
  }
}

void Recorder::OnResize(uint32_t columns, uint32_t rows) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (active_.has_value()) {
    GoOn();
    active_->file.AddResize(active_->seconds, columns, rows);
  }
}

void Recorder::OnEnd(int exit_code) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (active_.has_value()) {
    finished_.insert(active_->recording.id);
    Finish(StopReason::kSessionExit, exit_code);
  }
}

void Recorder::GoOn() {
  const int64_t now = NowMillis();
  double gap = static_cast<double>(now - active_->last_event_ms) / kMillis;
  const double limit = active_->recording.options.idle_time_limit;
  // The pause before the first event is not shortened.
  if (active_->has_events && limit > 0) {
    gap = std::min(gap, limit);
  }
  active_->seconds += gap;
  active_->has_events = true;
  active_->last_event_ms = now;
}

RecordingResult Recorder::Finish(StopReason reason,
                                 std::optional<int> exit_code) {
  const int64_t now = NowMillis();
  RecordingResult result;
  result.recording = active_->recording;
  result.duration_ms = now - active_->begin_ms;
  result.bytes = active_->file.bytes();
  result.reason = reason;
  // An end without an exit status does not count as a failure.
  result.saved =
      !active_->recording.options.only_failures || exit_code.value_or(0) != 0;
  if (result.saved) {
    const OrderedJson meta = {
        {"exitCode",
         exit_code.has_value() ? OrderedJson(*exit_code) : OrderedJson()},
        {"durationMs", result.duration_ms},
        {"startTime", active_->begin_ms},
        {"endTime", now},
        {"bytesWritten", result.bytes},
        {"stopReason", StopReasonName(reason)}};
    const std::string& path = result.recording.path;
    absl::Status saved = active_->file.Save(path);
    saved.Update(
        WriteWhole(absl::StrCat(path.substr(0, path.rfind('.')), ".meta.json"),
                   SerializeIndented(meta)));
    if (!saved.ok()) {
      LOG(ERROR) << "cannot save recording " << result.recording.id << ": "
                 << saved;
      result.saved = false;
    }
  } else {
    active_->file.Discard();
    result.recording.path.clear();
  }
  active_.reset();
  return result;
}

std::optional<int64_t> Recorder::Deadline(StopReason* reason) const {
  const RecordingOptions& options = active_->recording.options;
  std::optional<int64_t> deadline;
  if (options.max_duration > 0) {
    *reason = StopReason::kMaxDuration;
    deadline =
        active_->begin_ms +
        static_cast<int64_t>(std::min(options.max_duration, 1e9) * kMillis);
  }
  if (options.inactivity_timeout > 0) {
    const int64_t inactive =
        active_->last_output_ms +
        static_cast<int64_t>(std::min(options.inactivity_timeout, 1e9) *
                             kMillis);
    if (!deadline.has_value() || inactive < *deadline) {
      *reason = StopReason::kInactivity;
      deadline = inactive;
    }
  }
  return deadline;
}

void Recorder::WatchTime() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    StopReason reason = StopReason::kMaxDuration;
    const std::optional<int64_t> deadline =
        active_.has_value() ? Deadline(&reason) : std::nullopt;
    if (!deadline.has_value()) {
      changed_.wait(lock);
    } else if (*deadline <= NowMillis()) {
      finished_.insert(active_->recording.id);
      Finish(reason, std::nullopt);
    } else {
      changed_.wait_for(lock,
                        std::chrono::milliseconds(*deadline - NowMillis()));
    }
  }
}

}  // namespace bridge
