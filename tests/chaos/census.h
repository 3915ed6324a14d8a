// A census counts what a host has of all that sandboxes take and must give
// back. When the last sandbox is gone, it equals that before the first one.

#ifndef TESTS_CHAOS_CENSUS_H_
#define TESTS_CHAOS_CENSUS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/chaos/host_lists.h"

namespace tests {

struct Census {
  // By the name of the kind: what there is, by a name of its own. For example
  // "mounts" has the lines of /proc/self/mountinfo.
  std::map<std::string, Names> things;
  // See kernel_objects.h. In KiB: `memory`.
  std::map<std::string, int64_t> objects;
  std::map<std::string, int64_t> memory;
};

// `directories` are those whose files count.
Census TakeCensus(const std::vector<std::string>& directories);

// Returns a line for each kind of which `after` has more than `before`. Of
// things not one more is allowed; of objects 256 for each CPU, since the kernel
// counts those that it keeps ready there, and one for each fourth sandbox; of
// each kind of memory 32 MiB and 32 KiB for each sandbox. `sandboxes` is the
// number of those that were made between.
std::vector<std::string> Growth(const Census& before, const Census& after,
                                int64_t sandboxes);

// The same with a census that is taken again until nothing has grown, for at
// most `patience`: the kernel removes namespaces and groups in the background.
std::vector<std::string> LastingGrowth(
    const Census& before, const std::vector<std::string>& directories,
    int64_t sandboxes, absl::Duration patience);

}  // namespace tests

#endif  // TESTS_CHAOS_CENSUS_H_
