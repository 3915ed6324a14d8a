// Certificates for a corrald on TCP and its clients, made with openssl.

#ifndef TESTS_INTEGRATION_CERTIFICATES_H_
#define TESTS_INTEGRATION_CERTIFICATES_H_

#include <string>
#include <utility>

#include "bridge/client/connection.h"

namespace tests {

// Not thread-safe.
class Certificates {
 public:
  // Returns false if this host has no openssl command.
  static bool CanMake();

  // Puts all files into `directory`.
  explicit Certificates(std::string directory)
      : directory_(std::move(directory)) {}

  // Makes NAME.pem and NAME.key.
  void MakeAuthority(const std::string& name) const;
  // The same, signed by the authority and valid for the IP address.
  void MakeCertificate(const std::string& name, const std::string& authority,
                       const std::string& ip) const;

  std::string Path(const std::string& file) const {
    return directory_ + "/" + file;
  }

  // The `tls` message of corrald's configuration: the certificate "server", and
  // clients whose certificates the authority "ca" signed.
  std::string ServerConfiguration() const;

  // The options of a client with this certificate.
  client::ConnectOptions ClientOptions(const std::string& name,
                                       const std::string& address) const;

 private:
  const std::string directory_;
};

}  // namespace tests

#endif  // TESTS_INTEGRATION_CERTIFICATES_H_
