// run and wait, and readOutput, which goes on where they have stopped.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/mcp/terminal/output_history.h"
#include "bridge/mcp/terminal/plain_text.h"
#include "bridge/mcp/tools/tools.h"
#include "re2/re2.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using State = OutputHistory::State;
using Clock = std::chrono::steady_clock;

constexpr int64_t kDefaultTimeoutMillis = 30'000;
constexpr int64_t kMaxTimeoutMillis = 3'600'000;
constexpr int64_t kDefaultBytes = 50'000;
constexpr int64_t kMaxBytes = 1'000'000;
// A shell that writes no marks counts as done when it is silent for this long.
constexpr std::chrono::milliseconds kSilence(1500);

// The last `max` bytes, from the beginning of a character on.
absl::string_view Tail(absl::string_view text, size_t max) {
  if (text.size() <= max) {
    return text;
  }
  text.remove_prefix(text.size() - max);
  while (!text.empty() && (static_cast<uint8_t>(text.front()) & 0xc0) == 0x80) {
    text.remove_prefix(1);
  }
  return text;
}

// The progress of a command that was typed at offset `typed` of the output.
struct Progress {
  uint64_t begin;  // of its output
  uint64_t end;
  bool ended = false;
  bool has_marks = false;
  int exit_code = -1;
};

Progress Follow(const State& state, uint64_t typed) {
  Progress progress = {typed, state.end};
  for (const ShellMark& mark : state.marks) {
    if (mark.begin < typed) {
      continue;
    }
    if (mark.kind == 'C' && !progress.has_marks) {
      progress.has_marks = true;
      progress.begin = mark.end;
    } else if (mark.kind == 'D' && progress.has_marks && !progress.ended) {
      progress.ended = true;
      progress.end = mark.begin;
      progress.exit_code = mark.exit_code;
    }
  }
  if (state.exit_code.has_value() && !progress.ended) {
    progress.ended = true;
    progress.exit_code = *state.exit_code;
  }
  return progress;
}

bool IsOver(const State& state, uint64_t typed) {
  const Progress progress = Follow(state, typed);
  return progress.ended || (!progress.has_marks && state.end > typed &&
                            Clock::now() - state.last_output >= kSilence);
}

OrderedJson Report(const State& state, uint64_t typed, size_t max_bytes,
                   bool timed_out) {
  const Progress progress = Follow(state, typed);
  const absl::string_view raw = state.Since(progress.begin);
  const uint64_t begin = std::max(progress.begin, state.begin);
  const std::string text =
      PlainText(raw.substr(0, progress.end > begin ? progress.end - begin : 0));
  const absl::string_view shown = Tail(text, max_bytes);
  return {{"output", std::string(shown)},
          {"exitCode", progress.exit_code >= 0 ? OrderedJson(progress.exit_code)
                                               : OrderedJson()},
          {"running", timed_out && !progress.ended},
          {"truncated", shown.size() < text.size() || begin > progress.begin},
          {"offset", typed},
          {"nextOffset", state.end}};
}

Clock::time_point After(int64_t millis) {
  return Clock::now() + std::chrono::milliseconds(millis);
}

// Returns the output up to the end of its last line, or at least of its last
// character, if more output follows.
absl::string_view WholeLines(absl::string_view output, bool more_follows) {
  if (!more_follows) {
    return output;
  }
  const size_t newline = output.rfind('\n');
  if (newline != output.npos) {
    return output.substr(0, newline + 1);
  }
  size_t end = output.size();
  while (end > 1 && (static_cast<uint8_t>(output[end - 1]) & 0xc0) == 0x80) {
    --end;
  }
  return end > 1 ? output.substr(0, end - 1) : output;
}

// How long a call may wait, and how much it shows.
struct Bounds {
  int64_t timeout_millis;
  size_t max_bytes;
};

absl::StatusOr<Bounds> ParseBounds(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const int64_t timeout,
                   arguments.Integer("timeoutMs", kDefaultTimeoutMillis, 0,
                                     kMaxTimeoutMillis));
  ASSIGN_OR_RETURN(const int64_t max_bytes,
                   arguments.Integer("maxBytes", kDefaultBytes, 1, kMaxBytes));
  return Bounds{timeout, static_cast<size_t>(max_bytes)};
}

// The events that end a wait, beside the end of the shell.
struct Awaited {
  std::string text;                      // empty: none
  std::shared_ptr<const RE2> regex;      // of an empty pattern: none
  std::chrono::milliseconds silence{0};  // 0: none
};

absl::StatusOr<Awaited> ParseAwaited(const Arguments& arguments) {
  Awaited awaited;
  ASSIGN_OR_RETURN(awaited.text, arguments.String("text", ""));
  ASSIGN_OR_RETURN(const std::string pattern, arguments.String("regex", ""));
  ASSIGN_OR_RETURN(const int64_t silence,
                   arguments.Integer("silenceMs", 0, 0, kMaxTimeoutMillis));
  awaited.silence = std::chrono::milliseconds(silence);
  awaited.regex = std::make_shared<const RE2>(pattern, RE2::Quiet);
  if (!awaited.regex->ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid argument \"regex\": ", awaited.regex->error()));
  }
  return awaited;
}

// Returns why a wait since `begin`, for output since `from`, is over; empty: it
// is not.
std::string WhyOver(const Awaited& awaited, const State& state, uint64_t from,
                    Clock::time_point begin) {
  const std::string plain = PlainText(state.Since(from));
  if (!awaited.text.empty() && absl::StrContains(plain, awaited.text)) {
    return "text";
  }
  if (!awaited.regex->pattern().empty() &&
      RE2::PartialMatch(plain, *awaited.regex)) {
    return "regex";
  }
  if (state.exit_code.has_value()) {
    return "exit";
  }
  const auto quiet = Clock::now() - std::max(state.last_output, begin);
  const bool silent = awaited.silence.count() > 0 && quiet >= awaited.silence;
  return silent ? "silence" : "";
}

}  // namespace

absl::StatusOr<ToolResult> Tools::ReadOutput(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const int64_t offset,
                   arguments.Integer("offset", 0, 0, int64_t{1} << 52));
  ASSIGN_OR_RETURN(const int64_t max_bytes,
                   arguments.Integer("maxBytes", kDefaultBytes, 16, kMaxBytes));
  ASSIGN_OR_RETURN(const std::shared_ptr<Terminal> terminal, Find(arguments));
  ASSIGN_OR_RETURN(
      const corral::v1::ReadOutputResponse page,
      terminal->ReadOutput(offset, static_cast<uint32_t>(max_bytes)));
  const uint64_t end = page.state().end_offset();
  const absl::string_view lines =
      WholeLines(page.data(), page.offset() + page.data().size() < end);
  const uint64_t next = page.offset() + lines.size();
  return ToolResult::Object({{"output", PlainText(lines)},
                             {"offset", page.offset()},
                             {"nextOffset", next},
                             {"endOffset", std::max(end, next)}});
}

absl::StatusOr<ToolOutcome> Tools::Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string command,
                   arguments.RequiredString("command"));
  ASSIGN_OR_RETURN(const Bounds bounds, ParseBounds(arguments));
  ASSIGN_OR_RETURN(const std::shared_ptr<Terminal> terminal, Find(arguments));
  const uint64_t typed = terminal->history().end();
  RETURN_IF_ERROR(terminal->Type(absl::StrCat(command, "\r")));
  ToolOutcome outcome;
  outcome.execution = terminal->execution();
  outcome.wait = [terminal, typed,
                  bounds](const std::function<bool()>& is_cancelled) {
    const bool over = terminal->history().Await(
        After(bounds.timeout_millis), [&](const State& state) {
          return is_cancelled() || IsOver(state, typed);
        });
    OrderedJson report;
    terminal->history().Look([&](const State& state) {
      report = Report(state, typed, bounds.max_bytes, !over);
    });
    return ToolResult::Object(report);
  };
  return outcome;
}

absl::StatusOr<ToolOutcome> Tools::Wait(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Awaited awaited, ParseAwaited(arguments));
  ASSIGN_OR_RETURN(const Bounds bounds, ParseBounds(arguments));
  ASSIGN_OR_RETURN(const std::string session,
                   arguments.String("sessionId", ""));
  // The shell may have ended since it was typed into: that is an answer.
  ASSIGN_OR_RETURN(const std::shared_ptr<Terminal> terminal,
                   terminals_->FindEvenEnded(session));
  ASSIGN_OR_RETURN(
      const int64_t from,
      arguments.Integer("offset",
                        static_cast<int64_t>(terminal->history().typed_at()), 0,
                        int64_t{1} << 52));
  ToolOutcome outcome;
  outcome.wait = [terminal, awaited, bounds,
                  from](const std::function<bool()>& is_cancelled) {
    const auto begin = Clock::now();
    std::string reason;
    const bool over = terminal->history().Await(
        After(bounds.timeout_millis), [&](const State& state) {
          reason = is_cancelled() ? "cancelled"
                                  : WhyOver(awaited, state, from, begin);
          return !reason.empty();
        });
    OrderedJson report = {{"reason", over ? reason : "timeout"}};
    terminal->history().Look([&](const State& state) {
      report.update(Report(state, from, bounds.max_bytes, !over));
    });
    return ToolResult::Object(report);
  };
  return outcome;
}

}  // namespace bridge
