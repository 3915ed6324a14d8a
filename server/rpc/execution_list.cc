#include "server/rpc/execution_list.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/api/validation.h"
#include "server/core/execution.h"
#include "server/core/recovery.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"

namespace server {
namespace {

constexpr size_t kMaxPageBytes = 2 << 20;
// The most bytes for the tag and the length of a field, and for a page token.
constexpr size_t kFieldBytes = 6;
constexpr size_t kTokenBytes = 256;
// The number of executions or sandboxes that are looked up at once.
constexpr size_t kBatch = 64;

// Fills a page with executions until it is full.
class Page {
 public:
  Page(size_t entries, corral::v1::ListExecutionsResponse* response)
      : entries_(entries), response_(response) {}

  // Adds an execution. Returns false if the page is full without it.
  bool Add(const Execution& execution) {
    corral::v1::Execution entry = execution.Describe();
    bytes_ += entry.ByteSizeLong() + kFieldBytes;
    const int size = response_->executions_size();
    if (size == static_cast<int>(entries_) ||
        (size > 0 && bytes_ > kMaxPageBytes)) {
      response_->set_next_page_token(response_->executions(size - 1).name());
      return false;
    }
    *response_->add_executions() = std::move(entry);
    return true;
  }

  // Names sandboxes whose executions are missing.
  void AddUnreachable(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      response_->add_unreachable(SandboxName(id).ToString());
      bytes_ += response_->unreachable().rbegin()->size() + kFieldBytes;
    }
  }

  // Adds the executions of `sandbox` with ids after `after`. Returns false if
  // the page is full.
  bool AddAll(const Sandbox& sandbox, std::string after) {
    if (!sandbox.knows_executions()) {
      AddUnreachable({sandbox.id()});
    }
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
      after = batch.back()->id();
    }
  }

 private:
  const size_t entries_;
  size_t bytes_ = kTokenBytes;
  corral::v1::ListExecutionsResponse* const response_;
};

// Adds the executions of all sandboxes after `last`. Looks up a few sandboxes
// at a time, so that a page of a long list does not look at all of them.
void ListAll(const Registry& registry, const ExecutionName& last, Page* page) {
  std::string first = last.sandbox().id();
  while (true) {
    const std::vector<std::shared_ptr<Sandbox>> batch =
        registry.List(first, kBatch);
    for (const auto& sandbox : batch) {
      const bool resumed = sandbox->id() == last.sandbox().id();
      if (!page->AddAll(*sandbox, resumed ? last.id() : "")) {
        return;
      }
    }
    if (batch.size() < kBatch) {
      return;
    }
    // The smallest string after the last id.
    first = absl::StrCat(batch.back()->id(), absl::string_view("\0", 1));
  }
}

}  // namespace

absl::Status ListPage(const Registry& registry,
                      const corral::v1::ListExecutionsRequest& request,
                      corral::v1::ListExecutionsResponse* response) {
  ASSIGN_OR_RETURN(const SandboxName parent,
                   SandboxName::ParseListParent("parent", request.parent()));
  ASSIGN_OR_RETURN(const size_t size,
                   CheckPageSize("page_size", request.page_size()));
  // The last execution of the page before.
  ExecutionName last(SandboxName(""), "");
  if (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(last,
                     ExecutionName::Parse("page_token", request.page_token()));
  }
  Page page(size, response);
  if (parent.is_any()) {
    if (request.page_token().empty()) {
      page.AddUnreachable(registry.Unreadable());
    }
    ListAll(registry, last, &page);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox,
                   registry.Get(parent));
  sandbox->lifetime().Touch();
  if (!sandbox->knows_executions()) {
    return SandboxUnavailable(sandbox->spec().name(),
                              "its records cannot be read yet",
                              Recovery::kReadRetry);
  }
  page.AddAll(*sandbox, sandbox->id() == last.sandbox().id() ? last.id() : "");
  return absl::OkStatus();
}

}  // namespace server
