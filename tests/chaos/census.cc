#include "tests/chaos/census.h"

#include <algorithm>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tests/chaos/host_lists.h"
#include "tests/chaos/kernel_objects.h"

namespace tests {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(200);
// How many of the things that are left a line shows.
constexpr size_t kShown = 8;

// See Growth().
constexpr int64_t kObjectsPerCpu = 256;
constexpr int64_t kSandboxesPerObject = 4;
constexpr int64_t kMemoryKib = 32 << 10;
constexpr int64_t kMemoryKibPerSandbox = 32;

void CompareThings(const std::string& kind, const Names& before,
                   const Names& after, std::vector<std::string>& growth) {
  if (after.size() <= before.size()) {
    return;
  }
  std::vector<std::string> added;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(added));
  const size_t shown = std::min(kShown, added.size());
  growth.push_back(absl::StrCat(
      kind, ": ", after.size(), " instead of ", before.size(), ", for example ",
      absl::StrJoin(added.begin(), added.begin() + shown, ", ")));
}

void CompareCounts(const std::map<std::string, int64_t>& before,
                   const std::map<std::string, int64_t>& after,
                   int64_t tolerance, std::vector<std::string>& growth) {
  for (const auto& [kind, count] : after) {
    const auto known = before.find(kind);
    if (known != before.end() && count > known->second + tolerance) {
      growth.push_back(absl::StrCat(kind, ": ", count, " instead of ",
                                    known->second, "; ", tolerance,
                                    " more are allowed"));
    }
  }
}

}  // namespace

Census TakeCensus(const std::vector<std::string>& directories) {
  Census census;
  census.things["processes"] = ListCorralProcesses();
  census.things["mounts"] = ListMounts();
  census.things["control groups"] = ListControlGroups();
  census.things["namespaces"] = ListNamespaces();
  census.things["id ranges in use"] = ListIdRanges();
  census.things["files"] = ListFiles(directories);
  census.objects = CountKernelObjects();
  census.memory = ReadKernelMemory();
  return census;
}

std::vector<std::string> Growth(const Census& before, const Census& after,
                                int64_t sandboxes) {
  std::vector<std::string> growth;
  for (const auto& [kind, names] : before.things) {
    CompareThings(kind, names, after.things.at(kind), growth);
  }
  CompareCounts(before.objects, after.objects,
                kObjectsPerCpu * std::thread::hardware_concurrency() +
                    sandboxes / kSandboxesPerObject,
                growth);
  CompareCounts(before.memory, after.memory,
                kMemoryKib + kMemoryKibPerSandbox * sandboxes, growth);
  return growth;
}

std::vector<std::string> LastingGrowth(
    const Census& before, const std::vector<std::string>& directories,
    int64_t sandboxes, absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  for (;;) {
    std::vector<std::string> growth =
        Growth(before, TakeCensus(directories), sandboxes);
    if (growth.empty() || absl::Now() > deadline) {
      return growth;
    }
    absl::SleepFor(kPause);
  }
}

}  // namespace tests
