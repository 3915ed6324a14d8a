// DNS questions for tests.

#ifndef TESTS_NETWORK_DNS_QUERY_H_
#define TESTS_NETWORK_DNS_QUERY_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace tests {

// A message with one question of the internet class, that asks for recursion.
inline std::string MakeDnsQuery(const std::string& name, uint16_t type) {
  std::string query("\x12\x34\x01\0\0\1\0\0\0\0\0\0", 12);
  for (const absl::string_view label : absl::StrSplit(name, '.')) {
    query.push_back(static_cast<char>(label.size()));
    query.append(label.data(), label.size());
  }
  query.push_back('\0');
  query.push_back(static_cast<char>(type >> 8));
  query.push_back(static_cast<char>(type));
  return query + std::string("\0\1", 2);
}

}  // namespace tests

#endif  // TESTS_NETWORK_DNS_QUERY_H_
