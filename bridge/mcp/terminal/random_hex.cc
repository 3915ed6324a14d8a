#include "bridge/mcp/terminal/random_hex.h"

#include <random>

namespace bridge {

std::string RandomHex(size_t digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string text;
  while (text.size() < digits) {
    text += kDigits[random() % 16];
  }
  return text;
}

}  // namespace bridge
