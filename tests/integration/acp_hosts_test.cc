// corral-acp asks the user about a host that the sandbox refuses, with the real
// server: the test is the editor.

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AcpHostsTest : public IntegrationTest {
 protected:
  AcpHostsTest() { std::filesystem::create_directories(project_); }

  const std::string project_ = server_.workspace() + "/project";
  const std::string audit_ = server_.workspace() + "/audit.jsonl";
};

// Looks the name up until it is allowed. Prints "refused" once, and the
// address.
constexpr char kAgent[] = R"(
  read -r line
  echo '{"id":"open","result":{"sessionId":"s"}}'
  read -r line
  getent hosts later.example || echo refused
  until getent hosts later.example; do sleep 0.1; done)";

// Returns the text between `before` and the next quote.
std::string TextAfter(const std::string& line, const std::string& before) {
  const size_t begin = line.find(before);
  EXPECT_NE(begin, std::string::npos) << line;
  if (begin == std::string::npos) {
    return "";
  }
  const size_t start = begin + before.size();
  return line.substr(start, line.find('"', start) - start);
}

TEST_F(AcpHostsTest, LetsTheAgentReachAHostAfterTheUserHasAllowedIt) {
  Process editor({"./corral-acp", "--server", server_.address(),
                  "--agent-in-sandbox", "--workspace", project_, "--ask-hosts",
                  "--network", "allow-list", "--audit", audit_, "--", "sh",
                  "-c", kAgent});
  editor.Write(
      absl::StrCat(R"({"id":"open","method":"session/new","params":{"cwd":")",
                   project_, "\"}}\n"));
  EXPECT_THAT(editor.ReadLine(), HasSubstr("\"sessionId\":\"s\""));
  editor.Write(
      R"({"id":"p","method":"session/prompt","params":{"sessionId":"s"}})"
      "\n");
  EXPECT_EQ(editor.ReadLine(), "refused\n");
  const std::string question = editor.ReadLine();
  EXPECT_THAT(question, AllOf(HasSubstr("session/request_permission"),
                              HasSubstr("Reach the host later.example"),
                              HasSubstr("\"sessionId\":\"s\"")));
  editor.Write(
      absl::StrCat(R"({"id":")", TextAfter(question, "\"id\":\""),
                   R"(","result":{"outcome":{"outcome":"selected","optionId":)"
                   R"("allow_always"}}})"
                   "\n"));
  EXPECT_THAT(editor.ReadOutput(),
              AllOf(HasSubstr(" later.example\n"),
                    HasSubstr("\"status\":\"completed\"")));
  EXPECT_EQ(editor.Wait(), 0) << editor.ReadError();
  EXPECT_THAT(
      ReadFile(audit_),
      HasSubstr(R"("host":"later.example","allowed":true,"by":"user")"));
}

}  // namespace
}  // namespace tests
