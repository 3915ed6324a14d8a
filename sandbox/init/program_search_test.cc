#include "sandbox/init/program_search.h"

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandbox::init {
namespace {

using ::testing::ElementsAre;

class ProgramSearchTest : public ::testing::Test {
 protected:
  ProgramSearchTest() {
    tried.clear();
    errors.clear();
  }
  static long Search(const std::string& directories,
                     const std::string& name = "x") {
    return SearchAndExecute(
        directories.c_str(), name.c_str(), [](const char* path) -> long {
          tried.emplace_back(path);
          const auto error = errors.find(path);
          return error == errors.end() ? -ENOENT : -error->second;
        });
  }

  static inline std::vector<std::string> tried;
  // The errno of executing a path; ENOENT for all others.
  static inline std::map<std::string, int> errors;
};

TEST_F(ProgramSearchTest, TriesEachDirectoryInOrder) {
  EXPECT_EQ(Search("/a:/b/c:d"), -ENOENT);
  EXPECT_THAT(tried, ElementsAre("/a/x", "/b/c/x", "d/x"));
}

TEST_F(ProgramSearchTest, AnEmptyDirectoryIsTheWorkingDirectory) {
  EXPECT_EQ(Search(":/a::"), -ENOENT);
  EXPECT_THAT(tried, ElementsAre("x", "/a/x", "x", "x"));
  tried.clear();
  EXPECT_EQ(Search(""), -ENOENT);
  EXPECT_THAT(tried, ElementsAre("x"));
}

TEST_F(ProgramSearchTest, SkipsAFileThatMayNotBeExecutedAndReportsIt) {
  errors = {{"/a/x", EACCES}, {"/b/x", ENOTDIR}};
  EXPECT_EQ(Search("/a:/b:/c"), -EACCES);
  EXPECT_THAT(tried, ElementsAre("/a/x", "/b/x", "/c/x"));
}

TEST_F(ProgramSearchTest, SkipsWhatIsNoDirectory) {
  errors = {{"/a/x", ENOTDIR}};
  EXPECT_EQ(Search("/a:/b"), -ENOENT);
  EXPECT_THAT(tried, ElementsAre("/a/x", "/b/x"));
}

TEST_F(ProgramSearchTest, StopsAtAProgramThatTheKernelRefuses) {
  for (const int error : {ENOEXEC, E2BIG, ETXTBSY, ENOMEM, ELOOP}) {
    tried.clear();
    errors = {{"/a/x", EACCES}, {"/b/x", error}};
    EXPECT_EQ(Search("/a:/b:/c"), -error);
    EXPECT_THAT(tried, ElementsAre("/a/x", "/b/x"));
  }
}

TEST_F(ProgramSearchTest, SkipsAPathThatIsTooLong) {
  // The longest has kPathMax - 1 characters: a directory, '/' and "x".
  const std::string longest(kPathMax - 3, 'd');
  EXPECT_EQ(Search(longest + "d:" + longest + ":/b"), -ENOENT);
  EXPECT_THAT(tried, ElementsAre(longest + "/x", "/b/x"));
  tried.clear();
  EXPECT_EQ(Search("/a", std::string(kPathMax, 'n')), -ENOENT);
  EXPECT_THAT(tried, ElementsAre());
  EXPECT_EQ(Search(std::string(2 * kPathMax, 'd')), -ENOENT);
  EXPECT_THAT(tried, ElementsAre());
}

}  // namespace
}  // namespace sandbox::init
