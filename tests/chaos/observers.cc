// Other clients that use an execution while the main reader reads it.

#include <signal.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/chaos/chaos.h"
#include "tests/chaos/pattern.h"
#include "tests/process.h"

namespace tests {

void Chaos::WriteInput(const Workload& workload, const std::string& execution) {
  constexpr uint64_t kBlock = 200000;
  const uint64_t seed = workload.outputs.at(corral::v1::STDOUT).seed;
  uint64_t offset = 0;
  bool more = true;
  while (more) {
    const uint64_t size = std::min(kBlock, workload.input_size - offset);
    std::string data(size, 0);
    FillPattern(seed, offset, data.data(), size);
    corral::v1::WriteInputRequest request;
    request.set_name(execution);
    request.set_offset(offset);
    request.set_data(data);
    request.set_eof(offset + size == workload.input_size);
    corral::v1::InputState state;
    const grpc::Status status =
        calls_->Call(&Calls::ExecutionStub::WriteInput, request, &state);
    if (!status.ok() || state.accepted_offset() != offset + size) {
      return tally_.Difference(absl::StrCat(execution, ": writing input at ",
                                            offset, ": ", ToString(status), " ",
                                            state.ShortDebugString()));
    }
    offset += size;
    more = !request.eof();
  }
}

// corral logs, stopped now and then for longer than the server lives.
void Chaos::FollowWithCommandLine(const Workload& workload,
                                  const std::string& execution, uint64_t seed) {
  Process reader({"./corral", "logs", "--follow", "--stdout", "--server",
                  server_.address(), execution});
  reader.CloseInput();
  for (uint64_t i = 0; i < seed / 4 % 3; ++i) {
    absl::SleepFor(absl::Milliseconds(seed % 97));
    reader.Signal(SIGSTOP);
    absl::SleepFor(absl::Milliseconds(seed % 997));
    reader.Signal(SIGCONT);
  }
  const std::string output = reader.ReadOutput();
  const int status = reader.Wait();
  const Workload::Output& expected = workload.outputs.at(corral::v1::STDOUT);
  const uint64_t difference = FindDifference(expected.seed, 0, output);
  tally_.bytes_compared += output.size();
  if (status != 0 || output.size() != expected.size ||
      difference != output.size()) {
    tally_.Difference(
        absl::StrCat(execution, ": corral logs printed ", output.size(), " of ",
                     expected.size, " bytes, different from ", difference,
                     " on; status ", status, " ", reader.ReadError()));
  }
}

}  // namespace tests
