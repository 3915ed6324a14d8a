#include "tests/hanging_filesystem/hanging_directory.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/log.h"

namespace tests {
namespace {

constexpr char kProgram[] = "./tests/hanging_filesystem/hanging_filesystem";
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

}  // namespace

HangingDirectory::HangingDirectory(const std::string& path) : path_(path) {
  auto filesystem =
      std::make_unique<Process>(std::vector<std::string>{kProgram, path});
  if (filesystem->ReadLine() == "mounted\n") {
    filesystem_ = std::move(filesystem);
  }
}

HangingDirectory::~HangingDirectory() {
  if (is_mounted()) {
    filesystem_->CloseInput();
    CHECK(filesystem_->Wait() == 0) << path_;
  }
}

void HangingDirectory::Hang(const std::string& below) {
  CHECK(Ask(absl::StrCat("hang ", below)) == "ok\n");
}

void HangingDirectory::Release() { CHECK(Ask("release") == "ok\n"); }

int HangingDirectory::CountWaiting() {
  int count = 0;
  CHECK(absl::SimpleAtoi(Ask("waiting"), &count));
  return count;
}

void HangingDirectory::AwaitWaiting(int count) {
  while (CountWaiting() < count) {
    absl::SleepFor(kPollInterval);
  }
}

std::string HangingDirectory::Ask(const std::string& command) {
  filesystem_->Write(command + "\n");
  return filesystem_->ReadLine();
}

}  // namespace tests
