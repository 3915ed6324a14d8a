#include "tests/chaos/kernel_objects.h"

#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "tests/text_file.h"

namespace tests {
namespace {

// Caches of /proc/slabinfo that have a name of their own on all kernels.
const std::set<std::string>& Caches() {
  static const auto* const caches = new std::set<std::string>{
      "kernfs_node_cache", "mnt_cache",      "net_namespace",
      "pid_namespace",     "user_namespace", "uts_namespace"};
  return *caches;
}

// Calls `use` with each line of the file.
template <typename Use>
void ForEachLine(const std::string& path, Use use) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    use(line, words);
  }
}

// "0xffffffffc0000000-0xffffffffc0002000 8192 bpf_prog_alloc+0x39/0x230 pages=1
// vmalloc"
int64_t PagesOf(absl::string_view area) {
  constexpr absl::string_view kPages = " pages=";
  const size_t begin = area.find(kPages);
  if (!absl::StrContains(area, " bpf_") || begin == absl::string_view::npos) {
    return 0;
  }
  area.remove_prefix(begin + kPages.size());
  int64_t pages = 0;
  return absl::SimpleAtoi(area.substr(0, area.find(' ')), &pages) ? pages : 0;
}

}  // namespace

std::map<std::string, int64_t> CountKernelObjects() {
  std::map<std::string, int64_t> objects;
  ForEachLine("/proc/slabinfo", [&](const std::string&, auto& words) {
    std::string cache;
    int64_t active = 0;
    if (words >> cache >> active && Caches().count(cache) > 0) {
      objects[cache] = active;
    }
  });
  ForEachLine("/proc/cgroups", [&](const std::string&, auto& words) {
    std::string controller;
    int64_t hierarchy = 0;
    int64_t groups = 0;
    if (words >> controller >> hierarchy >> groups && controller == "memory") {
      objects["memory groups"] = groups;
    }
  });
  ForEachLine("/proc/vmallocinfo", [&](const std::string& line, auto&) {
    objects["pages of filters"] += PagesOf(line);
  });
  return objects;
}

std::map<std::string, int64_t> ReadKernelMemory() {
  std::map<std::string, int64_t> memory;
  ForEachLine("/proc/meminfo", [&](const std::string&, auto& words) {
    std::string key;
    int64_t kib = 0;
    if (words >> key >> kib && (key == "SUnreclaim:" || key == "KernelStack:" ||
                                key == "PageTables:" || key == "Percpu:")) {
      memory[key.substr(0, key.size() - 1)] = kib;
    }
  });
  return memory;
}

void DropCaches() {
  // The first pass frees pages that hold inodes and groups of the second one.
  for (int pass = 0; pass < 2; ++pass) {
    ::sync();
    WriteFile("/proc/sys/vm/drop_caches", "3");
  }
}

}  // namespace tests
