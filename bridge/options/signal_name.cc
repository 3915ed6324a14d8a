#include "bridge/options/signal_name.h"

#include <signal.h>
#include <string.h>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

// On Linux; glibc keeps the first two real-time signals for itself.
constexpr int kLastSignal = 64;
constexpr int kFirstRealTime = 34;

}  // namespace

absl::StatusOr<int> ParseSignal(absl::string_view text) {
  int number = 0;
  if (absl::SimpleAtoi(text, &number) && number >= 1 && number <= kLastSignal) {
    return number;
  }
  const std::string upper = absl::AsciiStrToUpper(text);
  absl::string_view name = absl::StripPrefix(upper, "SIG");
  for (number = 1; number < kFirstRealTime; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && name == known) {
      return number;
    }
  }
  if (absl::ConsumePrefix(&name, "RTMIN") &&
      (name.empty() || (absl::ConsumePrefix(&name, "+") && !name.empty()))) {
    int offset = 0;
    if ((name.empty() || absl::SimpleAtoi(name, &offset)) && offset >= 0 &&
        kFirstRealTime + offset <= kLastSignal) {
      return kFirstRealTime + offset;
    }
  }
  return absl::InvalidArgumentError(
      "allowed is a signal's name (TERM, SIGTERM, RTMIN+1) or number (1-64)");
}

std::string SignalName(int number) {
  if (const char* name = ::sigabbrev_np(number); name != nullptr) {
    return absl::StrCat("SIG", name);
  }
  if (number >= kFirstRealTime && number <= kLastSignal) {
    return absl::StrCat("SIGRTMIN+", number - kFirstRealTime);
  }
  return absl::StrCat("SIG", number);
}

std::string ErrnoName(int value) {
  const char* name = ::strerrorname_np(value);
  return name == nullptr ? absl::StrCat("errno ", value) : name;
}

std::string ErrnoText(int value) {
  const char* text = ::strerrordesc_np(value);
  return text == nullptr ? ErrnoName(value)
                         : absl::StrCat(text, " (", ErrnoName(value), ")");
}

}  // namespace bridge
