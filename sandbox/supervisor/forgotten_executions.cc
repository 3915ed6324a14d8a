#include "sandbox/supervisor/forgotten_executions.h"

#include <algorithm>
#include <map>

#include "absl/status/status.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// A list of the directory serves so many.
constexpr size_t kBatch = 64;

}  // namespace

uint32_t ForgottenExecutions::HashOf(absl::string_view id) {
  uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : id) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 16777619;
  }
  return hash;
}

bool ForgottenExecutions::Add(absl::string_view id, uint64_t charge) {
  if (charge > UINT32_MAX || MayHave(id)) {
    return false;
  }
  traces_.push_back({HashOf(id), static_cast<uint32_t>(charge)});
  return true;
}

std::deque<ForgottenExecutions::Trace>::const_iterator
ForgottenExecutions::Find(absl::string_view id) const {
  return std::find_if(
      traces_.begin(), traces_.end(),
      [hash = HashOf(id)](const Trace& trace) { return trace.hash == hash; });
}

uint32_t ForgottenExecutions::Take(absl::string_view id) {
  // Retention asks for the oldest ones, which are found at once.
  const auto found = Find(id);
  CHECK(found != traces_.end());
  const uint32_t charge = found->charge;
  traces_.erase(found);
  return charge;
}

absl::StatusOr<std::string> ForgottenExecutions::FirstCharged(
    const List& list) {
  const auto first =
      std::find_if(traces_.begin(), traces_.end(),
                   [](const Trace& trace) { return trace.charge > 0; });
  if (first == traces_.end()) {
    return absl::NotFoundError("no output is left");
  }
  // Skips those that were taken meanwhile.
  while (!next_.empty() && HashOf(next_.front()) != first->hash) {
    next_.pop_front();
  }
  if (next_.empty()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> ids, list());
    FindNext(ids);
  }
  if (next_.empty()) {
    return absl::NotFoundError("no file is left");
  }
  return next_.front();
}

void ForgottenExecutions::FindNext(const std::vector<std::string>& ids) {
  std::map<uint32_t, const std::string*> by_hash;
  for (const std::string& id : ids) {
    by_hash[HashOf(id)] = &id;
  }
  for (const Trace& trace : traces_) {
    const auto found = by_hash.find(trace.hash);
    if (trace.charge > 0 && found != by_hash.end()) {
      next_.push_back(*found->second);
    }
    if (next_.size() == kBatch) {
      return;
    }
  }
}

std::vector<uint32_t> ForgottenExecutions::Hashes() const {
  std::vector<uint32_t> hashes;
  hashes.reserve(traces_.size());
  for (const Trace& trace : traces_) {
    hashes.push_back(trace.hash);
  }
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

}  // namespace sandbox
