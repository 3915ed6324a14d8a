// Replaces the two functions of libvterm that say how wide a character is:
// programs in the sandbox compute widths with the C library's wcwidth(3), and
// the screen must agree with them. The linker takes these functions in place of
// the ones in libvterm.a.

#include <wchar.h>

#include <cstdint>

extern "C" {

int vterm_unicode_width(uint32_t character) {
  const int width = ::wcwidth(static_cast<wchar_t>(character));
  return width < 0 ? 1 : width;
}

int vterm_unicode_is_combining(uint32_t character) {
  return character != 0 && ::wcwidth(static_cast<wchar_t>(character)) == 0;
}

}  // extern "C"
