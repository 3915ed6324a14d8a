#include "server/rpc/execution_list.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/api/validation.h"
#include "server/core/execution.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"

namespace server {
namespace {

constexpr size_t kMaxPageBytes = 2 << 20;
// Looked up at once; more would only be copied in vain.
constexpr size_t kBatch = 64;

// Fills a page with executions until it is full.
class Page {
 public:
  Page(size_t entries, corral::v1::ListExecutionsResponse* response)
      : entries_(entries), response_(response) {}

  // False: the page is full without it.
  bool Add(const Execution& execution) {
    corral::v1::Execution entry = execution.Describe();
    entry.mutable_command()->clear_environment();
    bytes_ += entry.ByteSizeLong();
    const int size = response_->executions_size();
    if (size == static_cast<int>(entries_) ||
        (size > 0 && bytes_ > kMaxPageBytes)) {
      response_->set_next_page_token(response_->executions(size - 1).name());
      return false;
    }
    *response_->add_executions() = std::move(entry);
    return true;
  }

  // The executions of `sandbox` after `after`. False: the page is full.
  bool AddAll(const Sandbox& sandbox, std::string after) {
    while (true) {
      const std::vector<std::shared_ptr<Execution>> batch =
          sandbox.ListExecutions(after, kBatch);
      for (const auto& execution : batch) {
        if (!Add(*execution)) {
          return false;
        }
      }
      if (batch.size() < kBatch) {
        return true;
      }
      after = ExecutionName::Parse("name", batch.back()->name())->id();
    }
  }

 private:
  const size_t entries_;
  size_t bytes_ = 0;
  corral::v1::ListExecutionsResponse* const response_;
};

}  // namespace

absl::Status ListPage(const Registry& registry,
                      const corral::v1::ListExecutionsRequest& request,
                      corral::v1::ListExecutionsResponse* response) {
  ASSIGN_OR_RETURN(const SandboxName parent,
                   SandboxName::ParseListParent("parent", request.parent()));
  ASSIGN_OR_RETURN(const size_t size,
                   CheckPageSize("page_size", request.page_size()));
  // The last one of the page before.
  ExecutionName last(SandboxName(""), "");
  if (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(last,
                     ExecutionName::Parse("page_token", request.page_token()));
  }
  std::vector<std::shared_ptr<Sandbox>> sandboxes;
  if (parent.is_any()) {
    sandboxes = registry.List(last.sandbox().id(), registry.size());
  } else if (auto sandbox = registry.Find(parent.id()); sandbox != nullptr) {
    sandbox->lifetime().Touch();
    sandboxes.push_back(std::move(sandbox));
  } else {
    return SandboxNotFound(request.parent());
  }
  Page page(size, response);
  for (const auto& sandbox : sandboxes) {
    if (!page.AddAll(*sandbox,
                     sandbox->id() == last.sandbox().id() ? last.id() : "")) {
      break;
    }
  }
  return absl::OkStatus();
}

}  // namespace server
