// Files of network events, and of a terminal's times, with any content.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/base/log.h"
#include "sandbox/storage/network_log.h"
#include "sandbox/storage/terminal_times.h"

namespace {

std::string MakeDirectory() {
  std::string path = "/dev/shm/network_log_XXXXXX";
  CHECK(::mkdtemp(path.data()) != nullptr);
  return path;
}

void Write(const std::string& path, const uint8_t* data, size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data),
             static_cast<std::streamsize>(size));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string* const directory = new std::string(MakeDirectory());
  Write(*directory + "/network.log.old", data, size / 2);
  Write(*directory + "/network.log", data + size / 2, size - size / 2);
  const auto events = sandbox::ReadNetworkLog(*directory, 1, 10);
  CHECK(events.ok() && events->size() <= 10);
  for (const auto& event : *events) {
    CHECK(event.number() > 1);
  }
  const std::string execution = *directory + "/e1";
  const std::string times = execution + sandbox::kTerminalTimes;
  Write(times, data, size);
  const auto read = sandbox::ReadTerminalTimes(execution, 1, 100);
  CHECK(!read.ok() ||
        (read->size() + 1) * sizeof(sandbox::TerminalTime) <= size ||
        read->empty());
  return 0;
}
