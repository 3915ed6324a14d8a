// Placeholders (see placeholder.h) of a sandbox whose supervisor was killed and
// could not remove them.

#ifndef SANDBOX_KERNEL_ABANDONED_PLACEHOLDERS_H_
#define SANDBOX_KERNEL_ABANDONED_PLACEHOLDERS_H_

#include <string>
#include <vector>

namespace sandbox {

// Removes what stands in `workspace`, an absolute path, in place of these
// read-only paths, unless another sandbox uses it. Follows no link. Blocks on
// the disk.
void RemoveAbandonedPlaceholders(const std::string& workspace,
                                 const std::vector<std::string>& paths);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_ABANDONED_PLACEHOLDERS_H_
