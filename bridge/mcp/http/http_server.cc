#include "bridge/mcp/http/http_server.h"

#include <microhttpd.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {
namespace {

// Request line and header fields of a connection must fit into it.
constexpr size_t kConnectionMemory = 64 << 10;
constexpr size_t kPartSize = 16 << 10;
constexpr int kTooLarge = 413;

void Append(const char* name, const char* value, HttpRequest* request) {
  std::string& field = request->fields[absl::AsciiStrToLower(name)];
  absl::StrAppend(&field, field.empty() ? "" : ", ",
                  absl::StripAsciiWhitespace(value == nullptr ? "" : value));
}

bool HasHungUp(int socket) {
  pollfd item = {socket, POLLRDHUP, 0};
  return ::poll(&item, 1, 0) > 0;
}

// The parts of a response, as the library reads them.
struct Parts {
  std::function<std::optional<std::string>()> next;
  std::string part;
  size_t sent = 0;

  static ssize_t Read(void* self, uint64_t /*position*/, char* buffer,
                      size_t size) {
    auto* const parts = static_cast<Parts*>(self);
    if (parts->sent == parts->part.size()) {
      std::optional<std::string> next = parts->next();
      if (!next.has_value()) {
        return MHD_CONTENT_READER_END_OF_STREAM;
      }
      parts->part = *std::move(next);
      parts->sent = 0;
    }
    const size_t count = std::min(size, parts->part.size() - parts->sent);
    std::copy_n(parts->part.data() + parts->sent, count, buffer);
    parts->sent += count;
    return static_cast<ssize_t>(count);
  }
  static void Free(void* self) { delete static_cast<Parts*>(self); }
};

MHD_Result Queue(MHD_Connection* connection, HttpResponse response) {
  MHD_Response* raw = nullptr;
  if (response.next_part != nullptr) {
    raw = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, kPartSize, &Parts::Read,
        new Parts{std::move(response.next_part), "", 0}, &Parts::Free);
  } else {
    raw = MHD_create_response_from_buffer(
        response.body.size(), response.body.data(), MHD_RESPMEM_MUST_COPY);
  }
  if (raw == nullptr) {
    return MHD_NO;
  }
  for (const auto& [name, value] : response.fields) {
    MHD_add_response_header(raw, name.c_str(), value.c_str());
  }
  const MHD_Result queued = MHD_queue_response(
      connection, static_cast<unsigned>(response.status), raw);
  MHD_destroy_response(raw);
  return queued;
}

absl::StatusOr<sandbox::UniqueFd> Listen(const HttpAddress& address) {
  sandbox::UniqueFd socket(
      ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket.valid() ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) !=
          0 ||
      ::bind(socket.get(), address.get(), address.size()) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("listen at ", address.ToString()));
  }
  return socket;
}

}  // namespace

// One request and what was received of it. The library's callbacks get it.
struct HttpExchange {
  HttpRequest request;
  bool too_large = false;

  static MHD_Result OnData(void* server, MHD_Connection* connection,
                           const char* url, const char* method,
                           const char* /*version*/, const char* data,
                           size_t* size, void** exchange) {
    HttpService* const service = static_cast<HttpServer*>(server)->service_;
    if (*exchange == nullptr) {
      return Begin(service, connection, url, method, exchange);
    }
    auto* const self = static_cast<HttpExchange*>(*exchange);
    if (*size > 0) {
      self->Receive(data, *size);
      *size = 0;
      return MHD_YES;
    }
    return Queue(connection, self->too_large
                                 ? HttpResponse{kTooLarge, {}, "", nullptr}
                                 : service->Serve(self->request));
  }

  static void OnEnd(void* /*server*/, MHD_Connection* /*connection*/,
                    void** exchange, MHD_RequestTerminationCode /*how*/) {
    delete static_cast<HttpExchange*>(*exchange);
    *exchange = nullptr;
  }

 private:
  static MHD_Result Begin(HttpService* service, MHD_Connection* connection,
                          const char* url, const char* method,
                          void** exchange) {
    auto* const self = new HttpExchange;
    *exchange = self;
    HttpRequest& request = self->request;
    request.method = method;
    request.path = url;
    MHD_get_connection_values(
        connection, MHD_HEADER_KIND,
        [](void* into, MHD_ValueKind /*kind*/, const char* name,
           const char* value) {
          Append(name, value, static_cast<HttpRequest*>(into));
          return MHD_YES;
        },
        &request);
    const int socket =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
            ->connect_fd;
    request.is_gone = [socket] { return HasHungUp(socket); };
    socklen_t client = sizeof(request.client);
    socklen_t server = sizeof(request.server);
    ::getpeername(socket, reinterpret_cast<sockaddr*>(&request.client),
                  &client);
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&request.server),
                  &server);
    std::optional<HttpResponse> refusal = service->Refuse(request);
    return refusal.has_value() ? Queue(connection, *std::move(refusal))
                               : MHD_YES;
  }

  void Receive(const char* data, size_t size) {
    too_large = too_large || request.body.size() + size > HttpServer::kMaxBody;
    if (too_large) {
      request.body.clear();
    } else {
      request.body.append(data, size);
    }
  }
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const HttpAddress& address, HttpService* service) {
  ASSIGN_OR_RETURN(sandbox::UniqueFd socket, Listen(address));
  ASSIGN_OR_RETURN(const HttpAddress bound, HttpAddress::Of(socket.get()));
  std::unique_ptr<HttpServer> server(new HttpServer(bound, service));
  server->daemon_ = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
          MHD_USE_POLL | MHD_USE_ITC,
      0, nullptr, nullptr, &HttpExchange::OnData, server.get(),
      MHD_OPTION_LISTEN_SOCKET, socket.get(), MHD_OPTION_CONNECTION_LIMIT,
      kMaxConnections, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory,
      MHD_OPTION_NOTIFY_COMPLETED, &HttpExchange::OnEnd, nullptr,
      MHD_OPTION_END);
  if (server->daemon_ == nullptr) {
    return absl::InternalError("libmicrohttpd does not start");
  }
  socket.Release();  // the library closes it
  return server;
}

HttpServer::~HttpServer() {
  if (daemon_ != nullptr) {
    MHD_stop_daemon(daemon_);
  }
}

}  // namespace bridge
