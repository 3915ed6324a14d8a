#include "sandbox/init/spawn_request.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/init/exchange.h"

namespace sandbox::init {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SpawnRequestTest : public ::testing::Test {
 protected:
  // Writes strings; a '|' stands for NUL.
  void Write(absl::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      exchange()[kExchangeStrings + i] = text[i] == '|' ? '\0' : text[i];
    }
    request_.strings_size = static_cast<uint32_t>(text.size());
  }
  // Writes the strings of a request for two arguments and one variable.
  void WriteWhole() {
    Write("/dir|prog|x|A=b|");
    request_.argument_count = 2;
    request_.environment_count = 1;
  }
  long LayOut() {
    return sandbox::init::LayOut(exchange(), request_, &strings_);
  }
  char* exchange() { return reinterpret_cast<char*>(memory_.data()); }
  static std::vector<std::string> ListOf(char** table) {
    std::vector<std::string> list;
    for (; *table != nullptr; ++table) {
      list.emplace_back(*table);
    }
    return list;
  }

  // Ends with the exchange, so that a sanitizer sees what reads beyond it.
  std::vector<uint64_t> memory_ =
      std::vector<uint64_t>(kExchangeSize / sizeof(uint64_t), ~uint64_t{0});
  SpawnRequest request_ = {};
  CommandStrings strings_ = {};
};

TEST_F(SpawnRequestTest, IsForNoCommandOfUser0) {
  EXPECT_EQ(CheckUser(request_), -EINVAL);
  request_.user_id = ~uint32_t{0};
  EXPECT_EQ(CheckUser(request_), -EINVAL);
  request_.user_id = 1000;
  EXPECT_EQ(CheckUser(request_), 0);
}

TEST_F(SpawnRequestTest, LaysOutArgumentsAndEnvironment) {
  WriteWhole();
  ASSERT_EQ(LayOut(), 0);
  EXPECT_STREQ(strings_.working_directory, "/dir");
  EXPECT_THAT(ListOf(strings_.arguments), ElementsAre("prog", "x"));
  EXPECT_THAT(ListOf(strings_.environment), ElementsAre("A=b"));
  EXPECT_EQ(strings_.search_path, nullptr);
}

TEST_F(SpawnRequestTest, TakesEmptyStringsAndAnEmptyEnvironment) {
  Write("|||");
  request_.argument_count = 2;
  ASSERT_EQ(LayOut(), 0);
  EXPECT_STREQ(strings_.working_directory, "");
  EXPECT_THAT(ListOf(strings_.arguments), ElementsAre("", ""));
  EXPECT_THAT(ListOf(strings_.environment), IsEmpty());
}

TEST_F(SpawnRequestTest, RefusesARequestWithoutAProgram) {
  Write("/dir|");
  EXPECT_EQ(LayOut(), -EINVAL);
  Write("");
  EXPECT_EQ(LayOut(), -EINVAL);
  request_.argument_count = 1;
  EXPECT_EQ(LayOut(), -EINVAL);
}

TEST_F(SpawnRequestTest, RefusesACountThatIsNotThatOfTheStrings) {
  WriteWhole();
  for (const uint32_t arguments : {1u, 2u, 3u, 4u, 5u}) {
    for (const uint32_t variables : {0u, 1u, 2u, 3u}) {
      request_.argument_count = arguments;
      request_.environment_count = variables;
      EXPECT_EQ(LayOut(), arguments + variables == 3 ? 0 : -EINVAL)
          << arguments << " " << variables;
    }
  }
}

TEST_F(SpawnRequestTest, RefusesAStringThatIsNotTerminated) {
  WriteWhole();
  --request_.strings_size;
  EXPECT_EQ(LayOut(), -EINVAL);
}

TEST_F(SpawnRequestTest, RefusesStringsThatReachBeyondTheExchange) {
  WriteWhole();
  for (const size_t size :
       {kExchangeSize, kExchangeSize - kExchangeStrings + 1,
        kExchangeSize - kExchangeStrings, size_t{UINT32_MAX}}) {
    request_.strings_size = static_cast<uint32_t>(size);
    EXPECT_EQ(LayOut(), -EINVAL) << size;
  }
}

TEST_F(SpawnRequestTest, TakesTablesThatJustFit) {
  // A directory and a long argument; the tables hold three pointers.
  constexpr size_t kTables = 3 * sizeof(char*);
  const size_t size = kExchangeSize - kExchangeStrings - kTables;
  std::memset(exchange() + kExchangeStrings, 'x', size);
  exchange()[kExchangeStrings] = '\0';
  exchange()[kExchangeStrings + size - 1] = '\0';
  request_.argument_count = 1;
  request_.strings_size = static_cast<uint32_t>(size);
  ASSERT_EQ(LayOut(), 0);
  EXPECT_EQ(std::strlen(strings_.arguments[0]), size - 2);
  EXPECT_THAT(ListOf(strings_.environment), IsEmpty());
  ++request_.strings_size;
  EXPECT_EQ(LayOut(), -EINVAL);
  request_.argument_count = UINT32_MAX;
  request_.environment_count = UINT32_MAX;
  EXPECT_EQ(LayOut(), -EINVAL);
}

TEST_F(SpawnRequestTest, FindsTheSearchPathAmongTheStringsOrBehindTheTables) {
  WriteWhole();
  request_.path_offset = kExchangeStrings + sizeof("/dir|prog|x|A=") - 1;
  ASSERT_EQ(LayOut(), 0);
  EXPECT_STREQ(strings_.search_path, "b");
  request_.path_offset = kExchangeSize - sizeof("/bin");
  std::memcpy(exchange() + request_.path_offset, "/bin", sizeof("/bin"));
  ASSERT_EQ(LayOut(), 0);
  EXPECT_STREQ(strings_.search_path, "/bin");
}

TEST_F(SpawnRequestTest, RefusesASearchPathThatIsNoStringOfTheExchange) {
  WriteWhole();
  for (const size_t offset : {size_t{1}, kExchangeStrings - 1, kExchangeSize,
                              kExchangeSize - 1, size_t{UINT32_MAX}}) {
    request_.path_offset = static_cast<uint32_t>(offset);
    EXPECT_EQ(LayOut(), -EINVAL) << offset;
  }
}

TEST_F(SpawnRequestTest, NeedsTheStreamsAndTheCgroup) {
  for (const int count : {0, 1, 2, 3}) {
    EXPECT_EQ(CheckDescriptors(request_, count, false), -EINVAL) << count;
  }
  EXPECT_EQ(CheckDescriptors(request_, 4, false), 0);
  EXPECT_EQ(CheckDescriptors(request_, kMaxSpawnFds, false), 0);
  EXPECT_EQ(CheckDescriptors(request_, kMaxSpawnFds + 1, false), -EINVAL);
  // With v2 the cgroup is one descriptor.
  request_.group = SpawnGroup::kDirectory;
  EXPECT_EQ(CheckDescriptors(request_, 3, false), -EINVAL);
  EXPECT_EQ(CheckDescriptors(request_, 4, false), 0);
  EXPECT_EQ(CheckDescriptors(request_, 5, false), -EINVAL);
  request_.group = SpawnGroup::kNone;
  EXPECT_EQ(CheckDescriptors(request_, 2, false), -EINVAL);
  EXPECT_EQ(CheckDescriptors(request_, 3, false), 0);
  EXPECT_EQ(CheckDescriptors(request_, 4, false), -EINVAL);
  request_.group = static_cast<SpawnGroup>(3);
  EXPECT_EQ(CheckDescriptors(request_, 3, false), -EINVAL);
  EXPECT_EQ(CheckDescriptors(request_, 4, false), -EINVAL);
}

TEST_F(SpawnRequestTest, RefusesDescriptorsOfWhichTheKernelDroppedSome) {
  EXPECT_EQ(CheckDescriptors(request_, 4, true), -EMFILE);
  EXPECT_EQ(CheckDescriptors(request_, 0, true), -EMFILE);
}

}  // namespace
}  // namespace sandbox::init
