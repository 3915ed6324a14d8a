#include "tests/benchmarks/network_figures.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace tests {

absl::StatusOr<double> ReadNumber(Process& program) {
  const std::string line = program.ReadLine();
  double number = 0;
  if (!absl::SimpleAtod(line, &number)) {
    return absl::InternalError(
        absl::StrCat("a program printed no number but \"", line,
                     "\": ", program.ReadError()));
  }
  return number;
}

absl::StatusOr<std::string> ReadPort(Process& server) {
  ASSIGN_OR_RETURN(const double port, ReadNumber(server));
  return absl::StrCat(static_cast<int>(port));
}

absl::Status AddNumbers(const std::vector<std::string>& client,
                        Samples& samples) {
  Process program(client);
  program.CloseInput();
  for (std::string line = program.ReadLine(); !line.empty();
       line = program.ReadLine()) {
    double number = 0;
    if (!absl::SimpleAtod(line, &number)) {
      return absl::InternalError(absl::StrCat("a client printed ", line));
    }
    samples.Add(number);
  }
  return program.Wait() == 0 ? absl::OkStatus()
                             : absl::InternalError(absl::StrCat(
                                   "a client failed: ", program.ReadError()));
}

}  // namespace tests
