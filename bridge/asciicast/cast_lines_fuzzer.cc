#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "bridge/asciicast/cast_lines.h"
#include "bridge/jsonrpc/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view output(reinterpret_cast<const char*>(data), size);
  bridge::CastLines lines;
  for (size_t at = 0; at < size; at += 3) {
    const std::string line = lines.Output(0.5, output.substr(at, 3));
    if (!line.empty() &&
        !(absl::EndsWith(line, "\n") && bridge::IsJson(line))) {
      std::abort();
    }
  }
  return 0;
}
