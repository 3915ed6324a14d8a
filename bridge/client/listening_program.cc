// Stands in for corrald: --listen unix:PATH --idle-exit-seconds N [--config
// FILE]. Appends a line about its environment to PATH.starts, and listens until
// its socket is removed. If PATH.fail exists, it prints that file and ends at
// once instead.

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace {

int CountDescriptors() {
  int count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) {
    ++count;
  }
  ::closedir(directory);
  return count - 3;  // ".", ".." and the directory itself
}

// The masks of blocked and of ignored signals.
std::string SignalState() {
  std::ifstream status("/proc/self/status");
  std::string masks;
  for (std::string line; std::getline(status, line);) {
    const std::string name = line.substr(0, 6);
    if (name == "SigBlk" || name == "SigIgn") {
      masks += (masks.empty() ? "" : ",") +
               std::to_string(
                   std::stoull(line.substr(line.find('\t')), nullptr, 16));
    }
  }
  return masks;
}

// The files that are standard input and standard output.
std::string StandardFiles() {
  std::string files;
  for (const char* link : {"/proc/self/fd/0", "/proc/self/fd/1"}) {
    char file[4096];
    const ssize_t size = ::readlink(link, file, sizeof file);
    files += (files.empty() ? "" : ",") +
             std::string(file, size < 0 ? 0 : static_cast<size_t>(size));
  }
  return files;
}

void Append(const std::string& path, const std::string& text) {
  FILE* file = std::fopen(path.c_str(), "a");
  std::fputs(text.c_str(), file);
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  const std::string path = std::string(argv[2]).substr(std::strlen("unix:"));
  char directory[4096];
  // The line comes as one write: starts are counted by lines.
  Append(path + ".starts",
         std::string(argv[3]) + " " + argv[4] +
             (argc > 6 ? std::string(" ") + argv[5] + " " + argv[6] : "") +
             " leader=" + std::to_string(::getsid(0) == ::getpid()) +
             " fds=" + std::to_string(CountDescriptors()) +
             " cwd=" + ::getcwd(directory, sizeof directory) +
             " signals=" + SignalState() + " files=" + StandardFiles() +
             " session=" + std::to_string(::getsid(0)) + "\n");
  if (::access((path + ".fail").c_str(), F_OK) == 0) {
    std::stringstream text;
    text << std::ifstream(path + ".fail").rdbuf();
    std::fputs(text.str().c_str(), stderr);
    return 1;
  }
  const int watch = ::inotify_init1(IN_CLOEXEC);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) !=
      0) {
    std::perror("bind");
    return 1;
  }
  ::inotify_add_watch(watch, path.c_str(), IN_ATTRIB | IN_DELETE_SELF);
  ::listen(listener, 64);
  char event[4096];
  (void)!::read(watch, event, sizeof event);
  return 0;
}
