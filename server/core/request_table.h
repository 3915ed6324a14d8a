// Resources by id, and by the request that made each: finds what the same
// request made before. server/api/request_identity.h says which requests are
// the same.
//
// A resource costs two pointers: its ids are in the resource itself.
//
// Not thread-safe: the owner's lock guards it.

#ifndef SERVER_CORE_REQUEST_TABLE_H_
#define SERVER_CORE_REQUEST_TABLE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "server/api/request_identity.h"

namespace server {

// `Resource` has id() and request(), the identity of the request that made it.
// Both never change.
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
      return {AreSame((*made)->request(), request) ? Match::kSame
                                                   : Match::kOtherRequest,
              *made};
    }
    const Ptr found = Find(id);
    if (found == nullptr) {
      return {Match::kNone, nullptr};
    }
    return {AreSame(found->request(), request) ? Match::kSame : Match::kIdTaken,
            found};
  }

  // Returns false and changes nothing if the id is taken. A request id that is
  // in use keeps its first resource.
  bool Insert(const Ptr& resource) {
    if (!by_id_.insert(resource).second) {
      return false;
    }
    if (!resource->request().request_id().empty()) {
      by_request_.insert(resource);
    }
    return true;
  }

  // Removes the resource with this id and returns it, or null.
  Ptr Erase(const std::string& id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
      return nullptr;
    }
    const Ptr erased = *found;
    by_id_.erase(found);
    const auto made = by_request_.find(erased);
    if (made != by_request_.end() && *made == erased) {
      by_request_.erase(made);
    }
    return erased;
  }

  // Returns null if nothing has this id.
  Ptr Find(const std::string& id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : *found;
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

 private:
  // Orders resources by the text that `Key` returns, and finds them by it.
  template <absl::string_view (*Key)(const Resource&)>
  struct Less {
    using is_transparent = void;

    static absl::string_view Of(absl::string_view key) { return key; }
    static absl::string_view Of(const Ptr& resource) { return Key(*resource); }

    template <typename One, typename Other>
    bool operator()(const One& one, const Other& other) const {
      return Of(one) < Of(other);
    }
  };
  static absl::string_view IdOf(const Resource& resource) {
    return resource.id();
  }
  static absl::string_view RequestOf(const Resource& resource) {
    return resource.request().request_id();
  }
  using ById = absl::btree_set<Ptr, Less<IdOf>>;

  std::vector<Ptr> List(typename ById::const_iterator entry,
                        size_t limit) const {
    std::vector<Ptr> page;
    for (; entry != by_id_.end() && page.size() < limit; ++entry) {
      page.push_back(*entry);
    }
    return page;
  }

  ById by_id_;
  // The resources that requests with ids made.
  absl::btree_set<Ptr, Less<RequestOf>> by_request_;
};

}  // namespace server

#endif  // SERVER_CORE_REQUEST_TABLE_H_
