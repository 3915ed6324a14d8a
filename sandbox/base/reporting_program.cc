// Reports on its socket, for program_image_test: its arguments, its
// descriptors, what becomes of its errors, the size of its environment, and
// whether SIGTERM is blocked.

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>

int main(int, char** arguments) {
  std::set<int> open;
  DIR* const directory = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(directory)) {
      open.insert(fd);
    }
  }
  ::closedir(directory);
  std::string report = arguments[0];
  if (arguments[1] != nullptr) {
    report += std::string(" ") + arguments[1];
  }
  for (const int fd : open) {
    report += " " + std::to_string(fd);
  }
  char input = 0;
  report += ::read(0, &input, 1) == 0 ? " null" : " input";
  struct stat output;
  struct stat errors;
  ::fstat(1, &output);
  ::fstat(2, &errors);
  report += output.st_rdev == errors.st_rdev ? " discarded" : " kept";
  report += environ[0] == nullptr ? " empty" : " environment";
  sigset_t blocked;
  ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
  report += ::sigismember(&blocked, SIGTERM) == 1 ? " blocked" : " open";
  return ::write(3, report.data(), report.size()) < 0 ? 1 : 0;
}
