#include "bridge/acp/sibling_command.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "bridge/client/server_address.h"

namespace bridge {
namespace {

// Adds an option with the path of a file, which is `value` or else that of the
// environment variable.
void AddFile(const char* option, const std::string& value, const char* variable,
             std::vector<std::string>& words) {
  const char* inherited = std::getenv(variable);
  const std::string path =
      value.empty() && inherited != nullptr ? inherited : value;
  if (!path.empty()) {
    std::error_code error;
    const std::filesystem::path absolute =
        std::filesystem::absolute(path, error);
    words.emplace_back(option);
    words.push_back(error ? path : absolute.string());
  }
}

}  // namespace

std::vector<std::string> SiblingCommand(const std::string& program,
                                        const client::ConnectOptions& server) {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path path = self.parent_path() / program;
  if (error || ::access(path.c_str(), X_OK) != 0) {
    return {};
  }
  std::vector<std::string> words = {path.string()};
  if (const auto address = client::ResolveServerAddress(server.server);
      address.ok()) {
    words.emplace_back("--server");
    words.push_back(address->text);
  }
  AddFile("--tls-ca", server.tls_ca_file, "CORRAL_TLS_CA", words);
  AddFile("--tls-cert", server.tls_certificate_file, "CORRAL_TLS_CERT", words);
  AddFile("--tls-key", server.tls_key_file, "CORRAL_TLS_KEY", words);
  return words;
}

}  // namespace bridge
