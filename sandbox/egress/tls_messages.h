// Messages of TLS clients for tests.

#ifndef SANDBOX_EGRESS_TLS_MESSAGES_H_
#define SANDBOX_EGRESS_TLS_MESSAGES_H_

#include <cstddef>
#include <string>

namespace egress {

// Returns `value` in network order, in `size` bytes.
inline std::string Number(size_t value, int size) {
  std::string bytes;
  for (int i = size - 1; i >= 0; --i) {
    bytes.push_back(static_cast<char>(value >> (8 * i)));
  }
  return bytes;
}

// The bytes after their length, which takes `size` bytes.
inline std::string Vector(const std::string& bytes, int size) {
  return Number(bytes.size(), size) + bytes;
}

// The first message of a TLS client, in one record. With an empty `server_name`
// there is none. If `encrypted` is true, a second name is encrypted.
inline std::string MakeClientHello(const std::string& server_name,
                                   bool encrypted = false) {
  const std::string list = Number(0, 1) + Vector(server_name, 2);
  const std::string name = Number(0, 2) + Vector(Vector(list, 2), 2);
  const std::string extensions =
      (server_name.empty() ? "" : name) +
      (encrypted ? Number(0xfe0d, 2) + Vector("secret", 2) : "");
  const std::string body = Number(0x0303, 2) + std::string(32, 'r') +
                           Vector("", 1) + Vector(Number(0x1301, 2), 2) +
                           Vector(Number(0, 1), 1) + Vector(extensions, 2);
  return Number(22, 1) + Number(0x0301, 2) +
         Vector(Number(1, 1) + Vector(body, 3), 2);
}

}  // namespace egress

#endif  // SANDBOX_EGRESS_TLS_MESSAGES_H_
