#include "bridge/cli/commands/listing.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/client/call.h"
#include "bridge/client/resource_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::ListSandboxesResponse;
using corral::v1::Sandbox;

// The server's maximum.
constexpr int kPageSize = 1000;

}  // namespace

absl::StatusOr<ListSandboxesResponse> ListSandboxes(
    client::Connection& connection) {
  ListSandboxesResponse all;
  corral::v1::ListSandboxesRequest request;
  request.set_parent(client::kTenant);
  request.set_page_size(kPageSize);
  do {
    ASSIGN_OR_RETURN(
        ListSandboxesResponse page,
        client::Call(connection,
                     &corral::v1::SandboxService::StubInterface::ListSandboxes,
                     request));
    for (Sandbox& sandbox : *page.mutable_sandboxes()) {
      *all.add_sandboxes() = std::move(sandbox);
    }
    all.mutable_unreachable()->MergeFrom(page.unreachable());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<std::vector<Execution>> ListExecutions(
    client::Connection& connection, const std::string& parent) {
  std::vector<Execution> executions;
  std::set<std::string> unreachable;
  corral::v1::ListExecutionsRequest request;
  request.set_parent(parent);
  request.set_page_size(kPageSize);
  do {
    ASSIGN_OR_RETURN(
        corral::v1::ListExecutionsResponse page,
        client::Call(
            connection,
            &corral::v1::ExecutionService::StubInterface::ListExecutions,
            request));
    for (Execution& execution : *page.mutable_executions()) {
      executions.push_back(std::move(execution));
    }
    for (const std::string& name : page.unreachable()) {
      unreachable.insert(client::ShortName(name));
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  if (!unreachable.empty()) {
    Say(absl::StrCat(
        "the list is incomplete: the server is still reading the records of ",
        absl::StrJoin(unreachable, ", ")));
  }
  return executions;
}

}  // namespace bridge
