// Requests and responses of HTTP, as far as MCP needs them.

#ifndef BRIDGE_MCP_HTTP_HTTP_MESSAGE_H_
#define BRIDGE_MCP_HTTP_HTTP_MESSAGE_H_

#include <sys/socket.h>

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace bridge {

struct HttpRequest {
  std::string method;
  std::string path;  // without the query
  // The fields by name in lower case. The values of a repeated field are joined
  // by ", ".
  std::map<std::string, std::string> fields;
  std::string body;
  // The two ends of the connection.
  sockaddr_storage client = {};
  sockaddr_storage server = {};
  // Returns true once the client has closed the connection.
  std::function<bool()> is_gone = [] { return false; };

  // Returns an empty string if there is no such field.
  std::string Field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

struct HttpResponse {
  int status = 200;
  std::map<std::string, std::string> fields;
  std::string body;
  // If set, the body comes in parts instead: each call returns the next part,
  // and nothing after the last one. May block.
  std::function<std::optional<std::string>()> next_part;
};

// Answers requests. Thread-safe; calls may block.
class HttpService {
 public:
  virtual ~HttpService() = default;

  // Called before the body is read. Returns the response that refuses the
  // request, or no value if Serve() is to get the request with its body.
  virtual std::optional<HttpResponse> Refuse(const HttpRequest& request) = 0;
  virtual HttpResponse Serve(const HttpRequest& request) = 0;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_HTTP_MESSAGE_H_
