// A request that a supervisor with a fault has written. The input is a header
// and what stands at kExchangeStrings.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sandbox/init/spawn_request.h"

namespace {

bool IsInside(const char* exchange, const void* pointer) {
  const char* const at = static_cast<const char*>(pointer);
  return at >= exchange && at < exchange + sandbox::kExchangeSize;
}

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// All strings of the table end inside of the exchange.
size_t CountStrings(const char* exchange, char** table) {
  size_t count = 0;
  for (; table[count] != nullptr; ++count) {
    Check(IsInside(exchange, table[count]) &&
          IsInside(exchange, table[count] + std::strlen(table[count])));
  }
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  alignas(8) static char exchange[sandbox::kExchangeSize];
  sandbox::SpawnRequest request = {};
  const size_t header = std::min(size, sizeof(request));
  std::memcpy(&request, data, header);
  const size_t strings = std::min(size - header, size_t{64} << 10);
  std::memcpy(exchange + sandbox::kExchangeStrings, data + header, strings);
  std::memset(exchange + sandbox::kExchangeStrings + strings, 0, 4096);
  sandbox::init::CommandStrings laid_out = {};
  if (sandbox::init::LayOut(exchange, request, &laid_out) != 0) {
    return 0;
  }
  Check(IsInside(exchange, laid_out.working_directory));
  Check(laid_out.search_path == nullptr ||
        IsInside(exchange, laid_out.search_path));
  Check(CountStrings(exchange, laid_out.arguments) == request.argument_count);
  Check(CountStrings(exchange, laid_out.environment) ==
        request.environment_count);
  return 0;
}
