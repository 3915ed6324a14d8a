#include "bridge/mcp/http/http_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"

namespace bridge {
namespace {

using sandbox::UniqueFd;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Keeps the requests, and answers as the test wants. Thread-safe.
class Service : public HttpService {
 public:
  std::optional<HttpResponse> Refuse(const HttpRequest& request) override {
    if (request.path != "/secret") {
      return std::nullopt;
    }
    return HttpResponse{403, {{"X-Why", "secret"}}, "no", nullptr};
  }
  HttpResponse Serve(const HttpRequest& request) override {
    {
      sandbox::MutexLock lock(&mutex_);
      requests_.push_back(request);
      mutex_.Signal();
    }
    return answer(request);
  }

  std::vector<HttpRequest> requests() {
    sandbox::MutexLock lock(&mutex_);
    return requests_;
  }
  void AwaitRequest() {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !requests_.empty();
    });
  }

  std::function<HttpResponse(const HttpRequest&)> answer =
      [](const HttpRequest&) {
        return HttpResponse{200, {{"X-Name", "value"}}, "body", nullptr};
      };

 private:
  sandbox::Mutex mutex_;
  std::vector<HttpRequest> requests_ ABSL_GUARDED_BY(mutex_);
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest()
      : server_(*HttpServer::Start(*HttpAddress::Parse("0"), &service_)) {}

  UniqueFd Connect() {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const HttpAddress& address = server_->address();
    EXPECT_EQ(::connect(socket.get(), address.get(), address.size()), 0);
    return socket;
  }

  static std::string ReadAll(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(fd, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, size);
    }
    return text;
  }

  // The response to a request on a connection of its own.
  std::string Exchange(const std::string& head, const std::string& body = "") {
    const UniqueFd socket = Connect();
    tests::WriteAll(socket.get(),
                    absl::StrCat(head, "Content-Length: ", body.size(),
                                 "\r\nConnection: close\r\n\r\n", body));
    return ReadAll(socket.get());
  }

  Service service_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, PassesRequestsAndResponsesOn) {
  EXPECT_THAT(server_->address().ToString(), StartsWith("127.0.0.1:"));
  const std::string response = Exchange(
      "POST /mcp?x=1 HTTP/1.1\r\nHost: a\r\nX-Twice: one \r\n"
      "x-twice: two\r\n",
      "hello");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(response, HasSubstr("X-Name: value\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\nbody"));
  ASSERT_EQ(service_.requests().size(), 1);
  const HttpRequest request = service_.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/mcp");
  EXPECT_EQ(request.Field("host"), "a");
  EXPECT_EQ(request.Field("x-twice"), "one, two");
  EXPECT_EQ(request.body, "hello");
  EXPECT_EQ(request.client.ss_family, AF_INET);
  EXPECT_EQ(request.server.ss_family, AF_INET);
  const auto port = [](const void* end) {
    return static_cast<const sockaddr_in*>(end)->sin_port;
  };
  EXPECT_EQ(port(&request.server), port(server_->address().get()));
  EXPECT_NE(port(&request.client), port(&request.server));
}

TEST_F(HttpServerTest, RefusesBeforeItReadsTheBody) {
  const UniqueFd socket = Connect();
  tests::WriteAll(socket.get(),
                  "POST /secret HTTP/1.1\r\nHost: a\r\n"
                  "Content-Length: 1000\r\nConnection: close\r\n\r\n");
  const std::string response = ReadAll(socket.get());
  EXPECT_THAT(response, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(response, HasSubstr("X-Why: secret\r\n"));
  EXPECT_EQ(service_.requests().size(), 0);
}

TEST_F(HttpServerTest, TakesABodyOfFourMegabytesAtMost) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_THAT(Exchange(head, std::string(HttpServer::kMaxBody, 'x')),
              StartsWith("HTTP/1.1 200"));
  ASSERT_EQ(service_.requests().size(), 1);
  EXPECT_EQ(service_.requests()[0].body.size(), HttpServer::kMaxBody);
  EXPECT_THAT(Exchange(head, std::string(HttpServer::kMaxBody + 1, 'x')),
              StartsWith("HTTP/1.1 413"));
  EXPECT_EQ(service_.requests().size(), 1);
}

TEST_F(HttpServerTest, SendsABodyInParts) {
  std::atomic<int> parts = 0;
  service_.answer = [&parts](const HttpRequest&) {
    HttpResponse response;
    response.next_part = [&parts]() -> std::optional<std::string> {
      const int part = ++parts;
      return part > 3 ? std::nullopt
                      : std::optional(std::string(20'000, '0' + part));
    };
    return response;
  };
  const std::string response = Exchange("POST / HTTP/1.0\r\n");
  EXPECT_THAT(response,
              EndsWith(std::string(20'000, '1') + std::string(20'000, '2') +
                       std::string(20'000, '3')));
  EXPECT_EQ(parts, 4);
}

TEST_F(HttpServerTest, WaitsForAClientThatWaits) {
  std::atomic<bool> gone = true;
  service_.answer = [&gone](const HttpRequest& request) {
    gone = request.is_gone();
    return HttpResponse();
  };
  EXPECT_THAT(Exchange("POST / HTTP/1.1\r\nHost: a\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(gone);
}

TEST_F(HttpServerTest, NoticesThatAClientIsGone) {
  service_.answer = [](const HttpRequest& request) {
    while (!request.is_gone()) {
      std::this_thread::yield();
    }
    return HttpResponse();
  };
  UniqueFd socket = Connect();
  tests::WriteAll(socket.get(),
                  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  service_.AwaitRequest();
  // The service waits for this; the end of the server waits for the service.
  socket.Reset();
  server_.reset();
}

TEST_F(HttpServerTest, ListensAgainWhereItListenedBefore) {
  const HttpAddress address = server_->address();
  EXPECT_THAT(Exchange("POST / HTTP/1.1\r\nHost: a\r\n"),
              StartsWith("HTTP/1.1 200"));
  // The connection that the server has closed keeps the port for a while.
  server_.reset();
  EXPECT_TRUE(HttpServer::Start(address, &service_).ok());
}

TEST_F(HttpServerTest, SaysWhereItCannotListen) {
  Service other;
  const auto second = HttpServer::Start(server_->address(), &other);
  EXPECT_THAT(static_cast<std::string>(second.status().message()),
              HasSubstr("listen at " + server_->address().ToString()));
}

}  // namespace
}  // namespace bridge
