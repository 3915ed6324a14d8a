#include "tests/integration/certificates.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace tests {
namespace {

// The arguments of `openssl req` for a new key and a certificate's subject.
std::vector<std::string> Request(const std::string& name,
                                 const std::string& key_file,
                                 const std::string& output) {
  return {"openssl", "req",      "-newkey",
          "ec",      "-pkeyopt", "ec_paramgen_curve:prime256v1",
          "-nodes",  "-subj",    "/CN=" + name,
          "-keyout", key_file,   "-out",
          output};
}

}  // namespace

bool Certificates::CanMake() {
  return Process({"sh", "-c", "command -v openssl"}).Wait() == 0;
}

void Certificates::MakeAuthority(const std::string& name) const {
  std::vector<std::string> command =
      Request(name, Path(name + ".key"), Path(name + ".pem"));
  command.insert(command.end(), {"-x509", "-days", "2"});
  RunProgram(command);
}

void Certificates::MakeCertificate(const std::string& name,
                                   const std::string& authority,
                                   const std::string& ip) const {
  RunProgram(Request(name, Path(name + ".key"), Path(name + ".csr")));
  WriteFile(Path("extensions"), absl::StrCat("subjectAltName=IP:", ip, "\n"));
  RunProgram({"openssl", "x509", "-req", "-in", Path(name + ".csr"), "-CA",
              Path(authority + ".pem"), "-CAkey", Path(authority + ".key"),
              "-CAcreateserial", "-days", "2", "-extfile", Path("extensions"),
              "-out", Path(name + ".pem")});
}

std::string Certificates::ServerConfiguration() const {
  return absl::StrCat("tls { certificate_chain_file: \"", Path("server.pem"),
                      "\" private_key_file: \"", Path("server.key"),
                      "\" client_ca_file: \"", Path("ca.pem"), "\" }");
}

client::ConnectOptions Certificates::ClientOptions(
    const std::string& name, const std::string& address) const {
  return {address, Path("ca.pem"), Path(name + ".pem"), Path(name + ".key")};
}

}  // namespace tests
