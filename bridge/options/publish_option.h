// The option for servers of a sandbox that this machine reaches: --publish.

#ifndef BRIDGE_OPTIONS_PUBLISH_OPTION_H_
#define BRIDGE_OPTIONS_PUBLISH_OPTION_H_

#include <vector>

#include "bridge/client/published_port.h"
#include "bridge/options/option_table.h"

namespace bridge {

// The table refers to `ports`, to which each use of the option adds one.
void AddPublishOption(OptionTable& table,
                      std::vector<client::PublishedPort>& ports);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_PUBLISH_OPTION_H_
