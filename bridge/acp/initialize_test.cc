#include "bridge/acp/initialize.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

std::string Request(absl::string_view params) {
  return absl::StrCat(
      R"({ "jsonrpc":"2.0", "id":0,"method":"initialize","params":)", params,
      R"(,"x":1.50e+3})", "\r\n");
}

TEST(EditInitializeTest, TurnsTheTerminalOnAndKeepsEveryOtherByte) {
  EXPECT_EQ(
      EditInitialize(Request(
          R"({"protocolVersion":1,"_meta":{"a":[1.0,"\u00e9"]},"clientCapabilities" : {"fs":{"readTextFile":true},"terminal" : false ,"_meta":{"terminal_output":true}}, "clientInfo":null})")),
      Request(
          R"({"protocolVersion":1,"_meta":{"a":[1.0,"\u00e9"]},"clientCapabilities" : {"fs":{"readTextFile":true},"terminal" : true ,"_meta":{"terminal_output":true}}, "clientInfo":null})"));
}

TEST(EditInitializeTest, AddsMissingCapabilities) {
  EXPECT_EQ(EditInitialize(Request("{}")),
            Request(R"({"clientCapabilities":{"terminal":true}})"));
  EXPECT_EQ(
      EditInitialize(Request(R"({"protocolVersion":1})")),
      Request(
          R"({"clientCapabilities":{"terminal":true},"protocolVersion":1})"));
  EXPECT_EQ(EditInitialize(Request(R"({"clientCapabilities":{}})")),
            Request(R"({"clientCapabilities":{"terminal":true}})"));
  EXPECT_EQ(EditInitialize(Request(R"({"clientCapabilities":{ "fs":{}}})")),
            Request(R"({"clientCapabilities":{"terminal":true, "fs":{}}})"));
}

TEST(EditInitializeTest, ReplacesCapabilitiesThatAreNoObject) {
  EXPECT_EQ(EditInitialize(Request(R"({"clientCapabilities":null})")),
            Request(R"({"clientCapabilities":{"terminal":true}})"));
}

TEST(EditInitializeTest, SetsEveryMemberOfThatName) {
  EXPECT_EQ(
      EditInitialize(Request(
          R"({"clientCapabilities":{"terminal":0,"\u0074erminal":null}})")),
      Request(
          R"({"clientCapabilities":{"terminal":true,"\u0074erminal":true}})"));
}

TEST(EditInitializeTest, LowersANewerProtocolVersion) {
  for (const char* version :
       {"2", "65535", "1e9", "2.0", "99999999999999999999"}) {
    EXPECT_EQ(
        EditInitialize(Request(absl::StrCat(
            R"({"clientCapabilities":{"terminal":true},"protocolVersion":)",
            version, "}"))),
        Request(
            R"({"clientCapabilities":{"terminal":true},"protocolVersion":1})"));
  }
}

TEST(EditInitializeTest, KeepsAnOlderOrStrangeProtocolVersion) {
  for (const char* version : {"0", "1", "-1", "\"2\"", "null"}) {
    const std::string request = Request(absl::StrCat(
        R"({"clientCapabilities":{"terminal":true},"protocolVersion":)",
        version, "}"));
    EXPECT_EQ(EditInitialize(request), request);
  }
}

TEST(EditInitializeTest, LeavesUnreadableRequestsAlone) {
  for (const std::string& line :
       {Request("null"), Request("[]"), Request("{\"a\":{]}"),
        std::string(R"({"id":0,"method":"initialize"})"), std::string("x")}) {
    EXPECT_EQ(EditInitialize(line), line);
  }
}

TEST(EditInitializeTest, TakesNumbersThatAreTooLarge) {
  EXPECT_EQ(EditInitialize(
                R"({"id":1e400,"method":"initialize","params":{"x":1e400}})"),
            R"({"id":1e400,"method":"initialize","params":)"
            R"({"clientCapabilities":{"terminal":true},"x":1e400}})");
}

}  // namespace
}  // namespace bridge
