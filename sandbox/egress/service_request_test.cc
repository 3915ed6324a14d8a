#include "sandbox/egress/service_request.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace egress {
namespace {

Service MakeService(const std::string& header = "x-api-key") {
  Service service;
  service.name = "model";
  service.host = "api.example";
  service.port = 443;
  service.header = header;
  return service;
}

std::string Made(const std::string& fields, const Service& service,
                 const std::string& target = "/v1?a=%0d%0ab") {
  const HttpRequest request = ParseHttpRequest(
      absl::StrCat("POST ", target, " HTTP/1.1\r\n", fields, "\r\n"));
  EXPECT_EQ(request.state, HttpRequest::State::kComplete) << fields;
  return MakeServiceRequest(request, service, "secret");
}

constexpr char kHead[] = "POST /v1?a=%0d%0ab HTTP/1.1\r\nHost: api.example\r\n";
constexpr char kEnd[] = "x-api-key: secret\r\nConnection: close\r\n\r\n";

TEST(ServiceRequestTest, AddsTheHeaderAndNamesTheUpstream) {
  EXPECT_EQ(Made("Host: model.corral.internal\r\nA: b\r\nAccept_X: c\r\n",
                 MakeService()),
            absl::StrCat(kHead, "A: b\r\nAccept_X: c\r\n", kEnd));
}

TEST(ServiceRequestTest, NamesAnotherPortInTheHost) {
  Service service = MakeService();
  service.port = 8443;
  EXPECT_EQ(
      Made("", service, "/"),
      absl::StrCat("POST / HTTP/1.1\r\nHost: api.example:8443\r\n", kEnd));
}

TEST(ServiceRequestTest, ReplacesCredentialsOfTheClientInAnyForm) {
  for (const char* field :
       {"x-api-key", "X-Api-Key", "X_API_KEY", "x-api_key", "Authorization",
        "authorization", "Proxy-Authorization", "proxy_authorization"}) {
    EXPECT_EQ(Made(absl::StrCat(field, ": own\r\n", field, ": two\r\n"),
                   MakeService()),
              absl::StrCat(kHead, kEnd))
        << field;
  }
  EXPECT_EQ(
      Made("X_Goog_Key: own\r\nX-Api-Key: own\r\n", MakeService("X-Goog-Key")),
      absl::StrCat(kHead, "X-Goog-Key: secret\r\nConnection: close\r\n\r\n"));
}

TEST(ServiceRequestTest, LeavesOutWhatConcernsTheConnection) {
  for (const char* field :
       {"Connection: x-api-key, Upgrade", "Keep-Alive: 5",
        "Proxy-Connection: close", "Upgrade: websocket", "TE: trailers",
        "HTTP2-Settings: a", "Host_: a", "transfer_encoding: chunked",
        "Content_Length: 5"}) {
    const std::string made = Made(absl::StrCat(field, "\r\n"), MakeService());
    const bool other = absl::string_view(field) == "Host_: a";
    EXPECT_EQ(made, absl::StrCat(kHead, other ? "Host_: a\r\n" : "", kEnd))
        << field;
  }
}

TEST(ServiceRequestTest, KeepsTheSizeOfTheBodyAndExpectations) {
  for (const char* fields : {"Content-Length: 5\r\nExpect: 100-continue\r\n",
                             "Transfer-Encoding: chunked\r\n"}) {
    EXPECT_EQ(Made(fields, MakeService()), absl::StrCat(kHead, fields, kEnd));
  }
}

TEST(ServiceRequestTest, TakesThePathOfAUrl) {
  const struct {
    const char* target;
    const char* path;
  } cases[] = {{"http://model.corral.internal/a/../b?c", "/a/../b?c"},
               {"http://model.corral.internal", "/"},
               {"HTTP://model.corral.internal:80?c", "/?c"},
               {"http://model.corral.internal#c", "/#c"},
               {"/http://x/", "/http://x/"},
               {"*", "*"}};
  for (const auto& [target, path] : cases) {
    EXPECT_EQ(
        Made("", MakeService(), target),
        absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: api.example\r\n", kEnd))
        << target;
  }
}

}  // namespace
}  // namespace egress
