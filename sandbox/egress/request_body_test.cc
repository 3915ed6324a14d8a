#include "sandbox/egress/request_body.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace egress {
namespace {

using Body = HttpRequest::Body;
using State = ByteFilter::State;

HttpRequest Request(Body body, uint64_t size = 0) {
  HttpRequest request;
  request.body = body;
  request.body_size = size;
  return request;
}

std::string Filter(RequestBody& body, absl::string_view bytes) {
  std::string out;
  body.Filter(bytes, &out);
  return out;
}

TEST(RequestBodyTest, LetsNothingPassWithoutABody) {
  RequestBody body(Request(Body::kNone));
  EXPECT_EQ(body.state(), State::kDone);
  EXPECT_EQ(Filter(body, "GET"), "");
  // Only a sized body has a size.
  EXPECT_EQ(RequestBody(Request(Body::kNone, 5)).state(), State::kDone);
}

TEST(RequestBodyTest, LetsASizedBodyPass) {
  RequestBody body(Request(Body::kSized, 5));
  EXPECT_EQ(body.state(), State::kFiltering);
  EXPECT_EQ(Filter(body, "hel"), "hel");
  EXPECT_EQ(body.state(), State::kFiltering);
  EXPECT_EQ(Filter(body, "loGET"), "lo");
  EXPECT_EQ(body.state(), State::kDone);
  EXPECT_EQ(RequestBody(Request(Body::kSized, 0)).state(), State::kDone);
}

TEST(RequestBodyTest, LetsAChunkedBodyPass) {
  RequestBody body(Request(Body::kChunked));
  EXPECT_EQ(Filter(body, "1\r\nx"), "1\r\nx");
  EXPECT_EQ(body.state(), State::kFiltering);
  EXPECT_EQ(Filter(body, "\r\n0\r\n\r\nGET"), "\r\n0\r\n\r\n");
  EXPECT_EQ(body.state(), State::kDone);
}

TEST(RequestBodyTest, NoticesAMalformedChunk) {
  RequestBody body(Request(Body::kChunked));
  Filter(body, "x");
  EXPECT_EQ(body.state(), State::kMalformed);
}

TEST(RequestBodyTest, HoldsNothingBack) {
  RequestBody body(Request(Body::kChunked));
  Filter(body, "1\r\n");
  std::string out;
  body.Finish(&out);
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace egress
