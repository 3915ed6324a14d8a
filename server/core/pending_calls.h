// Callers that wait for a result, by the id of the object that they wait for.
// The owner takes them out under its lock and answers them after releasing it,
// so that each caller is answered exactly once.
//
// Not thread-safe: the owner's lock guards it.

#ifndef SERVER_CORE_PENDING_CALLS_H_
#define SERVER_CORE_PENDING_CALLS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace server {

template <typename Callback>
class PendingCalls {
 public:
  // Returns true if the caller is the first that waits for `id`.
  bool Add(const std::string& id, Callback callback) {
    std::vector<Callback>& callers = callers_[id];
    callers.push_back(std::move(callback));
    return callers.size() == 1;
  }

  // Removes and returns the callers that wait for `id`.
  std::vector<Callback> Take(const std::string& id) {
    const auto found = callers_.find(id);
    if (found == callers_.end()) {
      return {};
    }
    std::vector<Callback> callers = std::move(found->second);
    callers_.erase(found);
    return callers;
  }

  // Returns the ids that somebody waits for, in their order.
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const auto& [id, callers] : callers_) {
      ids.push_back(id);
    }
    return ids;
  }

 private:
  std::map<std::string, std::vector<Callback>> callers_;
};

}  // namespace server

#endif  // SERVER_CORE_PENDING_CALLS_H_
