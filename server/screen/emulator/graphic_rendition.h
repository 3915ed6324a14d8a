// SGR (CSI ... m): what libvterm misses of it.

#ifndef SERVER_SCREEN_EMULATOR_GRAPHIC_RENDITION_H_
#define SERVER_SCREEN_EMULATOR_GRAPHIC_RENDITION_H_

#include <string>

#include "absl/strings/string_view.h"

namespace screen {

// The attributes of characters that libvterm does not keep.
struct ExtraStyle {
  bool dim = false;
  bool hidden = false;
  bool overline = false;
};

// Applies the parameters of an SGR sequence to `extra`, and returns the
// sequence that libvterm understands: without these attributes and without
// colours of underlines, which it would take for other attributes. Empty:
// nothing is left.
std::string ApplyGraphicRendition(absl::string_view parameters,
                                  ExtraStyle* extra);

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_GRAPHIC_RENDITION_H_
