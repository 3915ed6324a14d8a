#include "tests/chaos/tally.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tests {

void Tally::Note(const std::string& problem) {
  const sandbox::MutexLock lock(&mutex_);
  problems_.push_back(problem);
  // Printed at once, so that it stands beside the server's log lines of that
  // time.
  std::cerr << absl::FormatTime("%H:%M:%E3S ", absl::Now(), absl::UTCTimeZone())
            << problem << std::endl;
}

std::vector<std::string> Tally::problems() const {
  const sandbox::MutexLock lock(&mutex_);
  return problems_;
}

std::string Tally::Summary() const {
  return absl::StrCat(executions.load(), " executions, ", disruptions.load(),
                      " disruptions, ", streams.load(), " streams, ",
                      bytes_compared.load() >> 20, " MiB compared, ",
                      problems().size(), " problems");
}

}  // namespace tests
