// Answers questions about names without asking anybody.

#ifndef SANDBOX_EGRESS_NAME_SERVICE_H_
#define SANDBOX_EGRESS_NAME_SERVICE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/egress/journal.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/policy.h"

namespace egress {

// Not thread-safe.
class NameService {
 public:
  // `policy`, `names` and `journal` must outlive the service. `ipv6`: names
  // have IPv6 addresses too.
  NameService(const Policy* policy, NameTable* names, Journal* journal,
              bool ipv6)
      : policy_(policy), names_(names), journal_(journal), ipv6_(ipv6) {}

  // Answers a DNS message: an allowed name has its addresses in the table, and
  // no records of other types; other names do not exist, and are reported. The
  // name itself is looked up only when a program connects, so this sends
  // nothing. Returns an empty string if the message gets no answer.
  std::string Answer(absl::string_view message);

 private:
  const Policy* const policy_;
  NameTable* const names_;
  Journal* const journal_;
  const bool ipv6_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_NAME_SERVICE_H_
