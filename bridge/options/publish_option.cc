#include "bridge/options/publish_option.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

void AddPublishOption(OptionTable& table,
                      std::vector<client::PublishedPort>& ports) {
  table.Value('p', "publish", "PORT[:LOCAL]",
              "Reach the server on this port of the sandbox at port LOCAL of\n"
              "127.0.0.1, by default the same one; 0: any that is free. May\n"
              "be repeated.",
              [&ports](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(const client::PublishedPort port,
                                 client::ParsePublishedPort(value));
                ports.push_back(port);
                return absl::OkStatus();
              });
}

}  // namespace bridge
