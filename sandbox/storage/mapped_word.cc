#include "sandbox/storage/mapped_word.h"

#include <setjmp.h>
#include <signal.h>

namespace sandbox {
namespace {

// The place where this thread continues if its access fails.
thread_local sigjmp_buf* under_way = nullptr;

void OnSigbus(int) {
  if (under_way != nullptr) {
    siglongjmp(*under_way, 1);
  }
  // On return the access is repeated, and its SIGBUS kills the process.
  ::signal(SIGBUS, SIG_DFL);
}

bool Install() {
  struct sigaction action = {};
  action.sa_handler = &OnSigbus;
  // The handler is left by a jump, after which the signal would stay blocked.
  action.sa_flags = SA_NODEFER;
  ::sigaction(SIGBUS, &action, nullptr);
  return true;
}

// The compiler must not move the stores to under_way: the signal of the access
// comes between them.
template <typename Access>
bool Try(Access access) {
  [[maybe_unused]] static const bool installed = Install();
  sigjmp_buf after;
  if (sigsetjmp(after, 0) != 0) {
    under_way = nullptr;
    return false;
  }
  under_way = &after;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  access();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  under_way = nullptr;
  return true;
}

}  // namespace

bool StoreMapped(std::atomic<uint64_t>* word, uint64_t value) {
  return Try([=] { word->store(value, std::memory_order_release); });
}

bool LoadMapped(const std::atomic<uint64_t>& word, uint64_t* value) {
  return Try([&word, value] { *value = word.load(std::memory_order_acquire); });
}

}  // namespace sandbox
