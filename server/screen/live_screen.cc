#include "server/screen/live_screen.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/terminal_times.h"
#include "server/api/errors.h"
#include "server/rpc/log_read.h"
#include "server/rpc/output_cursor.h"

namespace server {
namespace {

using corral::v1::TERMINAL;

// The bytes of output for each attempt to make a screen. Output that crashes
// the emulator every time must not make the screen unavailable.
constexpr uint64_t kAttempts[] = {LiveScreen::kMaxOutput,
                                  LiveScreen::kMaxOutput, 256 << 10, 4096, 0};
// A directory in that of the sandbox, beside that of the executions. It is not
// in an execution's directory, which the supervisor removes with the files that
// it knows.
constexpr char kMarksDirectory[] = "screens";
constexpr size_t kTimesAtOnce = 4096;

absl::Status TooLarge(const Execution& execution,
                      const corral::v1::TerminalSize& size) {
  return Error(absl::StatusCode::kFailedPrecondition,
               corral::v1::SCREEN_UNAVAILABLE,
               absl::StrCat("a terminal of ", size.rows(), " rows and ",
                            size.columns(), " columns has no screen: at most ",
                            screen::kMaxRows, " rows, ", screen::kMaxColumns,
                            " columns and ", screen::kMaxScreenCells, " cells"),
               {{"name", execution.name()}});
}

bool AreEqual(const corral::v1::TerminalSize& a,
              const corral::v1::TerminalSize& b) {
  return a.rows() == b.rows() && a.columns() == b.columns();
}

}  // namespace

ScreenMarks& LiveScreen::MarksOf(const Execution& execution) {
  if (!marks_.has_value()) {
    const std::filesystem::path files = execution.path();
    const google::protobuf::Timestamp created =
        execution.Describe().create_time();
    marks_.emplace(
        files.parent_path().parent_path() / kMarksDirectory / files.filename(),
        absl::StrCat(
            google::protobuf::util::TimeUtil::TimestampToNanoseconds(created)));
  }
  return *marks_;
}

void LiveScreen::RemoveMarks() {
  if (marks_.has_value()) {
    marks_->Remove();
  }
}

std::optional<uint64_t> LiveScreen::NextClear() const {
  const std::vector<uint64_t>& clears = marks_->clears();
  const auto next = std::upper_bound(clears.begin(), clears.end(), cleared_);
  return next == clears.end() ? std::nullopt : std::make_optional(*next);
}

absl::Status LiveScreen::LookAtLog(Execution& execution) {
  if (log_ == nullptr) {
    absl::StatusOr<Execution::LogReader> log = execution.OpenLog(TERMINAL);
    if (absl::IsNotFound(log.status())) {
      return absl::OkStatus();
    }
    if (!log.ok()) {
      return ToReadError(execution, log.status());
    }
    log_ = *std::move(log);
  }
  // A log that was opened just now is read too: another reader may have it open
  // already.
  const absl::Status read = execution.ReadLog(TERMINAL, *log_);
  if (!read.ok()) {
    return ToReadError(execution, read);
  }
  const std::optional<sandbox::OutputLogState> state =
      execution.output(TERMINAL);
  if (!state.has_value()) {
    return absl::OkStatus();
  }
  if (state->expired && state->end > 0) {
    return OutputExpired(execution.name(), state->begin, state->end);
  }
  end_ = state->end;
  return absl::OkStatus();
}

corral::v1::TerminalSize LiveScreen::SizeOf(const Execution& execution) {
  const corral::v1::TerminalSize size = execution.terminal_size();
  if (!AreEqual(size, execution.command().terminal())) {
    return size;
  }
  size_t read = kTimesAtOnce;
  while (read == kTimesAtOnce) {
    const auto times =
        sandbox::ReadTerminalTimes(execution.path(), times_read_, kTimesAtOnce);
    read = times.ok() ? times->size() : 0;
    for (size_t i = 0; i < read; ++i) {
      if ((*times)[i].rows != 0) {
        resized_.set_rows((*times)[i].rows);
        resized_.set_columns((*times)[i].columns);
      }
    }
    times_read_ += read;
  }
  return resized_.rows() == 0 ? size : resized_;
}

absl::Status LiveScreen::EnsureEmulator(const Execution& execution,
                                        uint64_t output) {
  const corral::v1::TerminalSize size = SizeOf(execution);
  if (!HasScreen(size)) {
    return TooLarge(execution, size);
  }
  if (emulator_ != nullptr && AreEqual(size, size_)) {
    return absl::OkStatus();
  }
  size_ = size;
  const std::optional<sandbox::OutputLogState> state =
      execution.output(TERMINAL);
  const uint64_t oldest = end_ > output ? end_ - output : 0;
  begin_ =
      std::min(end_, state.has_value() ? SkipDropped(*state, oldest) : oldest);
  position_ = begin_;
  cleared_ = begin_;
  ASSIGN_OR_RETURN(emulator_, EmulatorProcess::Start(*image_, size, begin_));
  return absl::OkStatus();
}

absl::StatusOr<size_t> LiveScreen::Read(Execution& execution, char* buffer,
                                        size_t size) {
  const absl::StatusOr<size_t> read = log_->Read(position_, buffer, size);
  if (absl::IsOutOfRange(read.status())) {
    // The bytes were dropped meanwhile: go on with the oldest that are kept.
    RETURN_IF_ERROR(execution.ReadLog(TERMINAL, *log_));
    const uint64_t next =
        SkipDropped(execution.output(TERMINAL).value(), position_);
    if (next == position_) {
      return absl::DataLossError("the log has lost what it should keep");
    }
    position_ = std::min(next, end_);
    return 0;
  }
  RETURN_IF_ERROR(read.status());
  if (*read == 0) {
    return absl::DataLossError("the log is shorter than was reported");
  }
  return *read;
}

absl::Status LiveScreen::CatchUp(Execution& execution) {
  std::string buffer(screen::kMaxWrite, '\0');
  while (true) {
    std::optional<uint64_t> clear = NextClear();
    while (clear.has_value() && *clear <= position_) {
      RETURN_IF_ERROR(emulator_->Clear());
      cleared_ = *clear;
      clear = NextClear();
    }
    if (position_ >= end_) {
      return absl::OkStatus();
    }
    const uint64_t stop = std::min(end_, clear.value_or(end_));
    const uint64_t before = position_;
    const absl::StatusOr<size_t> got =
        Read(execution, buffer.data(),
             std::min<uint64_t>(buffer.size(), stop - position_));
    if (!got.ok()) {
      return ToReadError(execution, got.status());
    }
    if (*got == 0) {
      RETURN_IF_ERROR(emulator_->Skip(position_ - before));
    }
    RETURN_IF_ERROR(emulator_->Write({buffer.data(), *got}));
    position_ += *got;
  }
}

absl::StatusOr<LiveScreen::View> LiveScreen::TryGet(
    Execution& execution, const corral::v1::GetScreenRequest& request,
    uint64_t output) {
  RETURN_IF_ERROR(EnsureEmulator(execution, output));
  RETURN_IF_ERROR(CatchUp(execution));
  return emulator_->Get(
      request.scrollback_lines(), request.styles(),
      request.has_answers_from() ? request.answers_from() : UINT64_MAX);
}

absl::Status LiveScreen::Get(Execution& execution,
                             const corral::v1::GetScreenRequest& request,
                             corral::v1::GetScreenResponse* response) {
  *response->mutable_execution() = execution.Describe();
  response->mutable_execution()->clear_command();
  ScreenMarks& marks = MarksOf(execution);
  if (request.has_answers_from()) {
    marks.SetAnswered();
  }
  response->set_answered_by_client(marks.answered());
  RETURN_IF_ERROR(LookAtLog(execution));
  absl::Status failed;
  for (const uint64_t output : kAttempts) {
    absl::StatusOr<View> view = TryGet(execution, request, output);
    if (view.ok()) {
      *response->mutable_screen() = std::move(view->screen);
      response->mutable_screen()->set_begin_offset(begin_);
      response->mutable_screen()->set_end_offset(position_);
      response->set_answers(std::move(view->answers));
      return absl::OkStatus();
    }
    failed = view.status();
    emulator_.reset();
    if (ReasonOf(failed) != corral::v1::ERROR_REASON_UNSPECIFIED) {
      return failed;  // not the emulator's fault
    }
    LOG(WARNING) << "the screen of " << execution.name()
                 << " needs another emulator: " << failed;
  }
  return ScreenUnavailable(execution.name(), failed.message());
}

absl::Status LiveScreen::Clear(Execution& execution) {
  RETURN_IF_ERROR(LookAtLog(execution));
  ScreenMarks& marks = MarksOf(execution);
  const uint64_t last = marks.clears().empty() ? 0 : marks.clears().back();
  if (last < end_) {
    marks.AddClear(end_);
  }
  return absl::OkStatus();
}

}  // namespace server
