#include "bridge/acp/inside/agent_runtime.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/base/paths.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

namespace fs = std::filesystem;
using ::sandbox::IsWithin;

// The kernel has such limits, too: links in a row, interpreters of
// interpreters.
constexpr int kMaxLinks = 40;
constexpr int kMaxInterpreters = 4;
// The kernel reads no more of a first line.
constexpr size_t kFirstLineBytes = 256;

// Every sandbox has these directories.
constexpr const char* kInEverySandbox[] = {"/usr",  "/etc", "/bin",
                                           "/sbin", "/lib", "/lib64"};
// Never shown as a whole: much else lies there, too.
constexpr const char* kShared[] = {"/",    "/home", "/mnt", "/opt",
                                   "/srv", "/tmp",  "/var", "/var/tmp"};
constexpr const char* kSharedInHome[] = {"", "/.local", "/.cargo"};

bool IsExecutable(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

class Search {
 public:
  explicit Search(const Surroundings& surroundings) : in_(surroundings) {}

  absl::StatusOr<std::string> Visit(const std::string& program, int depth);
  AgentRuntime Finish(std::string program);

 private:
  absl::StatusOr<std::string> Find(const std::string& program) const;
  // `file` has no link among its directories.
  absl::Status Need(const fs::path& file);
  absl::Status NeedInterpreter(const fs::path& file, int depth);
  bool IsShared(const std::string& directory) const;
  bool IsVisible(const std::string& path) const;
  std::string RootOf(const fs::path& file) const;

  const Surroundings& in_;
  AgentRuntime found_;
};

absl::StatusOr<std::string> Search::Find(const std::string& program) const {
  if (absl::StrContains(program, '/')) {
    const std::string path = (fs::path(in_.directory) / program).string();
    if (!IsExecutable(path)) {
      return absl::NotFoundError(
          absl::StrCat(program, " is not an executable file"));
    }
    return path;
  }
  for (const absl::string_view directory : absl::StrSplit(in_.path, ':')) {
    std::string path = absl::StrCat(directory, "/", program);
    if (!directory.empty() && IsExecutable(path)) {
      return path;
    }
  }
  return absl::NotFoundError(absl::StrCat(program, " is not in PATH"));
}

absl::StatusOr<std::string> Search::Visit(const std::string& program,
                                          int depth) {
  ASSIGN_OR_RETURN(const std::string path, Find(program));
  fs::path file = path;
  std::string first;
  for (int links = 0; links < kMaxLinks; ++links) {
    std::error_code error;
    const fs::path directory = fs::canonical(file.parent_path(), error);
    file = directory / file.filename();
    if (first.empty()) {
      first = file.string();
      if (!IsVisible(first)) {
        found_.path.push_back(directory.string());
      }
    }
    RETURN_IF_ERROR(Need(file));
    if (!fs::is_symlink(file, error)) {
      RETURN_IF_ERROR(NeedInterpreter(file, depth));
      return first;
    }
    file = directory / fs::read_symlink(file, error);
  }
  return absl::NotFoundError(absl::StrCat(program, " has too many links"));
}

absl::Status Search::NeedInterpreter(const fs::path& file, int depth) {
  std::ifstream stream(file);
  char text[kFirstLineBytes] = {};
  stream.read(text, sizeof text);
  absl::string_view line(text, static_cast<size_t>(stream.gcount()));
  line = line.substr(0, line.find('\n'));
  if (depth >= kMaxInterpreters || !absl::ConsumePrefix(&line, "#!")) {
    return absl::OkStatus();
  }
  std::vector<std::string> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (!words.empty() && fs::path(words.front()).filename() == "env") {
    // env's options and variables come before the program.
    const auto name = std::find_if(
        std::next(words.begin()), words.end(), [](const std::string& word) {
          return !absl::StartsWith(word, "-") && !absl::StrContains(word, '=');
        });
    words.erase(words.begin(), name);
  }
  return words.empty() ? absl::OkStatus()
                       : Visit(words.front(), depth + 1).status();
}

bool Search::IsVisible(const std::string& path) const {
  const auto contains = [&path](absl::string_view directory) {
    return IsWithin(path, directory);
  };
  return std::any_of(std::begin(kInEverySandbox), std::end(kInEverySandbox),
                     contains) ||
         std::any_of(in_.known.begin(), in_.known.end(), contains);
}

bool Search::IsShared(const std::string& directory) const {
  if (std::find(std::begin(kShared), std::end(kShared), directory) !=
      std::end(kShared)) {
    return true;
  }
  return IsWithin(in_.home, directory) ||
         std::any_of(std::begin(kSharedInHome), std::end(kSharedInHome),
                     [&](const char* name) {
                       return directory == absl::StrCat(in_.home, name);
                     });
}

std::string Search::RootOf(const fs::path& file) const {
  const std::string text = file.string();
  for (const char* name : {"/node_modules/", "/.pyenv/"}) {
    if (const size_t at = text.find(name); at != std::string::npos) {
      return text.substr(0, text.find('/', at + 1));
    }
  }
  const fs::path directory = file.parent_path();
  const fs::path prefix = directory.parent_path();
  return directory.filename() == "bin" && !IsShared(prefix.string())
             ? prefix.string()
             : directory.string();
}

absl::Status Search::Need(const fs::path& file) {
  if (IsVisible(file.string())) {
    return absl::OkStatus();
  }
  const std::string root = RootOf(file);
  if (IsShared(root)) {
    return absl::FailedPreconditionError(absl::StrCat(
        file.string(), " lies in ", root,
        ", which is not shown to a sandbox as a whole; install the program in "
        "a directory of its own, or give --mount for what it needs"));
  }
  found_.directories.push_back(root);
  return absl::OkStatus();
}

AgentRuntime Search::Finish(std::string program) {
  std::vector<std::string> all = std::move(found_.directories);
  std::sort(all.begin(), all.end());
  found_.directories.clear();
  for (std::string& directory : all) {
    if (std::none_of(found_.directories.begin(), found_.directories.end(),
                     [&](const std::string& other) {
                       return IsWithin(directory, other);
                     })) {
      found_.directories.push_back(std::move(directory));
    }
  }
  found_.program = std::move(program);
  return std::move(found_);
}

}  // namespace

absl::StatusOr<AgentRuntime> FindRuntime(const std::string& program,
                                         const Surroundings& surroundings) {
  Search search(surroundings);
  ASSIGN_OR_RETURN(std::string path, search.Visit(program, 0));
  return search.Finish(std::move(path));
}

}  // namespace bridge
