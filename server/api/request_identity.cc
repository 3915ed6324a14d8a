#include "server/api/request_identity.h"

#include <openssl/sha.h>

#include <string>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"

namespace server {

using corral::supervisor::v1::RequestIdentity;

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
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
           digest);
  RequestIdentity identity;
  identity.set_request_id(request_id);
  identity.set_digest(digest, sizeof(digest));
  return identity;
}

bool AreSame(const RequestIdentity& one, const RequestIdentity& other) {
  return !one.digest().empty() && one.digest() == other.digest();
}

}  // namespace server
