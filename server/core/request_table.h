// Resources by id, and by the request that made each: finds what the same
// request made before. server/api/request_identity.h says which requests are
// the same.
//
// Not thread-safe: the owner's lock guards it.

#ifndef SERVER_CORE_REQUEST_TABLE_H_
#define SERVER_CORE_REQUEST_TABLE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "server/api/request_identity.h"

namespace server {

// `Resource` has request(), the identity of the request that made it; it never
// changes.
template <typename Resource>
class RequestTable {
 public:
  using Ptr = std::shared_ptr<Resource>;
  using RequestIdentity = corral::supervisor::v1::RequestIdentity;

  enum class Match {
    // No request has used this request id or this resource id.
    kNone,
    // The same request made `resource`.
    kSame,
    // A different request with this request id made `resource`.
    kOtherRequest,
    // A different request made `resource`, which has this id.
    kIdTaken,
  };

  struct Found {
    Match match;
    // Null with kNone.
    Ptr resource;
  };

  // A request id decides before a resource id.
  Found FindSame(const std::string& id, const RequestIdentity& request) const {
    const auto made = by_request_.find(request.request_id());
    if (made != by_request_.end()) {
      const Ptr& resource = by_id_.at(made->second);
      return {AreSame(resource->request(), request) ? Match::kSame
                                                    : Match::kOtherRequest,
              resource};
    }
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
      return {Match::kNone, nullptr};
    }
    return {AreSame(found->second->request(), request) ? Match::kSame
                                                       : Match::kIdTaken,
            found->second};
  }

  // Returns false and changes nothing if the id is taken. A request id that is
  // in use keeps its first resource.
  bool Insert(const std::string& id, const Ptr& resource) {
    if (!by_id_.emplace(id, resource).second) {
      return false;
    }
    const std::string& request_id = resource->request().request_id();
    if (!request_id.empty()) {
      by_request_.emplace(request_id, id);
    }
    return true;
  }

  // Removes the resource with this id and returns it, or null.
  Ptr Erase(const std::string& id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
      return nullptr;
    }
    Ptr erased = std::move(found->second);
    by_id_.erase(found);
    const auto made = by_request_.find(erased->request().request_id());
    if (made != by_request_.end() && made->second == id) {
      by_request_.erase(made);
    }
    return erased;
  }

  // Returns null if nothing has this id.
  Ptr Find(const std::string& id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second;
  }

  // At most `limit` resources with ids from `first` on, in the order of ids.
  std::vector<Ptr> ListFrom(const std::string& first, size_t limit) const {
    return List(by_id_.lower_bound(first), limit);
  }
  // The same with ids after `last`.
  std::vector<Ptr> ListAfter(const std::string& last, size_t limit) const {
    return List(by_id_.upper_bound(last), limit);
  }

  size_t size() const { return by_id_.size(); }

  const std::map<std::string, Ptr>& by_id() const { return by_id_; }

 private:
  using Entry = typename std::map<std::string, Ptr>::const_iterator;

  std::vector<Ptr> List(Entry entry, size_t limit) const {
    std::vector<Ptr> page;
    for (; entry != by_id_.end() && page.size() < limit; ++entry) {
      page.push_back(entry->second);
    }
    return page;
  }

  std::map<std::string, Ptr> by_id_;
  // The id of the resource that a request made, by request id. No request id
  // is empty.
  std::map<std::string, std::string> by_request_;
};

}  // namespace server

#endif  // SERVER_CORE_REQUEST_TABLE_H_
