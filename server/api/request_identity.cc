#include "server/api/request_identity.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <string>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"
#include "sandbox/base/log.h"

namespace server {

using corral::supervisor::v1::RequestIdentity;

namespace {

// Found once: OpenSSL searches its providers for each digest otherwise.
const EVP_MD* Sha256() {
  static const EVP_MD* const found = ::EVP_MD_fetch(nullptr, "SHA256", nullptr);
  CHECK(found != nullptr);
  return found;
}

}  // namespace

RequestIdentity Identify(const google::protobuf::Message& request,
                         const std::string& request_id) {
  // Includes the type: messages of two types can have the same bytes.
  std::string bytes = request.GetDescriptor()->full_name();
  bytes.push_back('\0');
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    request.SerializeToCodedStream(&coded);
  }
  unsigned char digest[SHA256_DIGEST_LENGTH];
  CHECK(::EVP_Digest(bytes.data(), bytes.size(), digest, nullptr, Sha256(),
                     nullptr) == 1);
  RequestIdentity identity;
  identity.set_request_id(request_id);
  identity.set_digest(digest, sizeof(digest));
  return identity;
}

bool AreSame(const RequestIdentity& one, const RequestIdentity& other) {
  return !one.digest().empty() && one.digest() == other.digest();
}

}  // namespace server
