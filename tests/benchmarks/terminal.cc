#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"
#include "tests/process.h"

namespace tests {

absl::Status MeasureTerminal(const Setting& setting) {
  const std::string figure =
      "terminal create, wait, output, release: corral-acp";
  if (setting.peers.empty()) {
    setting.report.NotMeasured(
        figure, "needs Node.js 20 and the packages of tests/interop from npm");
    return absl::OkStatus();
  }
  // Prints "corral MICROSECONDS" and "local MICROSECONDS".
  Process client({"node", absl::StrCat(setting.peers, "/terminal.mjs"),
                  setting.workspace, "./corral-acp", "--server", setting.server,
                  "--", "node", absl::StrCat(setting.peers, "/agent.mjs")});
  client.CloseInput();
  std::map<std::string, Samples> samples;
  for (std::string line = client.ReadLine(); !line.empty();
       line = client.ReadLine()) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \n"));
    double microseconds = 0;
    if (words.size() < 2 || !absl::SimpleAtod(words[1], &microseconds)) {
      return absl::InternalError(absl::StrCat("terminal.mjs printed ", line));
    }
    samples[words[0]].Add(microseconds);
  }
  if (client.Wait() != 0) {
    return absl::InternalError(
        absl::StrCat("terminal.mjs failed: ", client.ReadError()));
  }
  setting.report.Add({figure, "us", samples["corral"],
                      "official TypeScript client, spawns locally",
                      samples["local"], Goal::RatioAtMost(1),
                      "/bin/true, seen by the agent"});
  return absl::OkStatus();
}

}  // namespace tests
