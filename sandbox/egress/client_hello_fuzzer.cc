#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/base/log.h"
#include "sandbox/egress/client_hello.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using State = egress::ClientHello::State;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const egress::ClientHello hello = egress::ParseClientHello(bytes);
  CHECK(hello.server_name.size() <= size);
  // Bytes that follow hide no name, and what was malformed stays so.
  const egress::ClientHello followed =
      egress::ParseClientHello(std::string(bytes) + "more");
  CHECK(hello.state != State::kMalformed ||
        followed.state == State::kMalformed);
  CHECK(hello.state != State::kComplete ||
        (followed.state == State::kComplete &&
         followed.server_name == hello.server_name));
  return 0;
}
