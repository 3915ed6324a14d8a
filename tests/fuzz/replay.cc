// Gives a fuzzer's function its seeds and a fixed number of inputs that are
// made of them, always the same ones. The arguments are the seeds' files.
//
// The input under way is in the file `input` of the test's outputs, also after
// a crash.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tests {
namespace {

constexpr int kInputs = 20'000;
constexpr size_t kLargest = 64 << 10;

std::vector<std::string> seeds;

// Keeps the input in a file that a crash leaves.
class InputFile {
 public:
  InputFile() {
    const char* directory = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
    const std::string path =
        std::string(directory == nullptr ? "/tmp" : directory) + "/input";
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_GE(fd_, 0) << path;
  }
  ~InputFile() { ::close(fd_); }

  void Put(const std::string& input) const {
    EXPECT_EQ(::pwrite(fd_, input.data(), input.size(), 0),
              static_cast<ssize_t>(input.size()));
    EXPECT_EQ(::ftruncate(fd_, static_cast<off_t>(input.size())), 0);
  }

 private:
  int fd_;
};

class Mutator {
 public:
  std::string Next() {
    std::string input = Seed();
    for (size_t changes = 1 + Below(8); changes > 0; --changes) {
      Change(&input);
    }
    input.resize(std::min(input.size(), kLargest));
    return input;
  }

 private:
  size_t Below(size_t bound) { return random_() % bound; }
  const std::string& Seed() { return seeds[Below(seeds.size())]; }

  void Change(std::string* input) {
    const size_t at = Below(input->size() + 1);
    const size_t length = std::min(Below(32) + 1, input->size() - at);
    switch (Below(6)) {
      case 0:
        input->insert(at, 1 + Below(4), static_cast<char>(random_()));
        break;
      case 1:
        input->erase(at, length);
        break;
      case 2:
        input->insert(at, input->substr(Below(input->size() + 1), length));
        break;
      case 3: {
        const std::string& other = Seed();
        input->insert(at, other.substr(Below(other.size() + 1), Below(64)));
        break;
      }
      case 4:
        // Lengths and counts go wrong at these.
        if (length > 0) {
          constexpr char kEdges[] = {0, 1, 2, 4, '\x7f', '\x80', '\xff'};
          (*input)[at] = kEdges[Below(sizeof(kEdges))];
        }
        break;
      default:
        if (length > 0) {
          (*input)[at] = static_cast<char>((*input)[at] ^ (1 << Below(8)));
        }
        break;
    }
  }

  std::mt19937_64 random_;
};

void Try(const InputFile& file, const std::string& input) {
  file.Put(input);
  // In memory of exactly its size, so that a sanitizer sees each byte too many.
  const std::unique_ptr<uint8_t[]> bytes(new uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), bytes.get());
  LLVMFuzzerTestOneInput(bytes.get(), input.size());
}

TEST(FuzzTest, NoInputBreaksTheParser) {
  ASSERT_FALSE(seeds.empty());
  const InputFile file;
  Try(file, "");
  for (const std::string& seed : seeds) {
    Try(file, seed);
  }
  Mutator mutator;
  for (int i = 0; i < kInputs; ++i) {
    Try(file, mutator.Next());
  }
}

}  // namespace
}  // namespace tests

int main(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  for (int i = 1; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    tests::seeds.emplace_back(std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>());
  }
  return RUN_ALL_TESTS();
}
