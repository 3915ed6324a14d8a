// corral-emulator: one terminal emulator, for the output of one execution.
// corrald starts it; see frames.h.

#include <locale.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdlib>

#include "sandbox/base/filter_error.h"
#include "server/screen/emulator/confinement.h"
#include "server/screen/emulator/emulation.h"
#include "server/screen/emulator/frames.h"

int main() {
  // wcwidth(3) needs this locale. Without it, characters beyond ASCII take one
  // column.
  ::setlocale(LC_CTYPE, "C.UTF-8");
  // Sets the name that ps shows. Without it, that would be a number.
  ::prctl(PR_SET_NAME, "corral-emulator");
  if (!screen::Confine()) {
    return errno == sandbox::kNoFilterMemory ? screen::kNoFilterMemoryStatus
                                             : EXIT_FAILURE;
  }
  screen::Emulate(screen::kEmulatorSocket);
  // Without destructors: nothing here must outlive the process.
  std::_Exit(EXIT_SUCCESS);
}
