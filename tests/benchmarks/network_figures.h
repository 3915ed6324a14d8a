// Shared parts of the figures about networks.

#ifndef TESTS_BENCHMARKS_NETWORK_FIGURES_H_
#define TESTS_BENCHMARKS_NETWORK_FIGURES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/benchmarks/samples.h"
#include "tests/process.h"

namespace tests {

// The size of a download, and how often each figure is measured.
inline constexpr char kDownloadMebibytes[] = "512";
inline constexpr int kNetworkRounds = 5;

// Reads a line that is a number. Fails, with the program's errors, if there is
// none.
absl::StatusOr<double> ReadNumber(Process& program);

// The same for the port of a server, as text.
absl::StatusOr<std::string> ReadPort(Process& server);

// Runs a client to its end, and adds each number that it prints.
absl::Status AddNumbers(const std::vector<std::string>& client,
                        Samples& samples);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_NETWORK_FIGURES_H_
