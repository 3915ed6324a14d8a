// Certificates in files, for tests.

#ifndef SERVER_NET_CERTIFICATE_FILES_H_
#define SERVER_NET_CERTIFICATE_FILES_H_

#include <string>

namespace server {

// Makes DIRECTORY/NAME.pem, a certificate for the host NAME that its own key
// signed, and DIRECTORY/NAME.key.
void MakeCertificateFiles(const std::string& directory,
                          const std::string& name);

}  // namespace server

#endif  // SERVER_NET_CERTIFICATE_FILES_H_
