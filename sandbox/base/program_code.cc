#include "sandbox/base/program_code.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace sandbox {
namespace {

// Segments that cannot be written have the content of their file.
int ForgetSegments(dl_phdr_info* program, size_t, void*) {
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) {
      continue;
    }
    const uintptr_t begin = program->dlpi_addr + segment.p_vaddr;
    const uintptr_t aligned = begin / page * page;
    ::madvise(reinterpret_cast<void*>(aligned),
              segment.p_memsz + (begin - aligned), MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void ForgetCode() { ::dl_iterate_phdr(ForgetSegments, nullptr); }

}  // namespace sandbox
