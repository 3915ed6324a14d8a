#include "tests/text_file.h"

#include <fstream>
#include <sstream>
#include <string>

#include "sandbox/base/log.h"

namespace tests {

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream file(path);
  file << content;
  CHECK(file.flush().good());
}

}  // namespace tests
