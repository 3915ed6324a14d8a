// SGR (CSI ... m): the attributes that libvterm does not support.

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
// sequence for libvterm, which is empty if nothing is left. The sequence has
// neither these attributes nor colours of underlines: libvterm reads the latter
// as other attributes.
std::string ApplyGraphicRendition(absl::string_view parameters,
                                  ExtraStyle* extra);

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_GRAPHIC_RENDITION_H_
