#include "bridge/acp/display/attach_command.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace bridge {
namespace {

// Adds an option with the value, or with that of the environment variable,
// which the client may not have.
void AddOption(const char* option, const std::string& value,
               const char* variable, std::vector<std::string>& words) {
  const char* inherited = std::getenv(variable);
  const std::string text =
      value.empty() && inherited != nullptr ? inherited : value;
  if (!text.empty()) {
    words.emplace_back(option);
    words.push_back(text);
  }
}

}  // namespace

std::vector<std::string> AttachCommand(const client::ConnectOptions& server) {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path program = self.parent_path() / "corral";
  if (error || ::access(program.c_str(), X_OK) != 0) {
    return {};
  }
  std::vector<std::string> words = {program.string()};
  AddOption("--server", server.server, "CORRAL_SERVER", words);
  AddOption("--tls-ca", server.tls_ca_file, "CORRAL_TLS_CA", words);
  AddOption("--tls-cert", server.tls_certificate_file, "CORRAL_TLS_CERT",
            words);
  AddOption("--tls-key", server.tls_key_file, "CORRAL_TLS_KEY", words);
  words.emplace_back("attach");
  return words;
}

}  // namespace bridge
