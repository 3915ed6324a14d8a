#include "bridge/mcp/http/http_sessions.h"

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "bridge/mcp/terminal/random_hex.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

constexpr size_t kIdDigits = 32;

}  // namespace

std::shared_ptr<HttpSession> HttpSessions::MakeSession() {
  if (options_.terminals.sandbox.lasting_id.empty()) {
    return std::make_shared<HttpSession>(
        options_, std::make_shared<Workplace>(options_.terminals));
  }
  if (shared_ == nullptr) {
    shared_ = std::make_shared<Workplace>(options_.terminals);
  }
  return std::make_shared<HttpSession>(options_, shared_);
}

std::shared_ptr<HttpSession> HttpSessions::Begin(std::string* id) {
  *id = RandomHex(kIdDigits);
  MutexLock lock(&mutex_);
  if (stopped_ || sessions_.size() >= kMaxSessions) {
    return nullptr;
  }
  Entry& entry = sessions_[*id];
  entry.session = MakeSession();
  entry.used = absl::Now();
  return entry.session;
}

std::shared_ptr<HttpSession> HttpSessions::Find(const std::string& id) {
  MutexLock lock(&mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) {
    return nullptr;
  }
  found->second.used = absl::Now();
  return found->second.session;
}

std::shared_ptr<HttpSession> HttpSessions::Stateless() {
  MutexLock lock(&mutex_);
  if (stateless_ == nullptr && !stopped_) {
    stateless_ = MakeSession();
  }
  return stateless_;
}

bool HttpSessions::End(const std::string& id) {
  std::shared_ptr<HttpSession> ended;
  MutexLock lock(&mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) {
    return false;
  }
  ended = std::move(found->second.session);
  sessions_.erase(found);
  return true;
}

void HttpSessions::EndUnused(absl::Time oldest) {
  std::vector<std::shared_ptr<HttpSession>> ended;
  MutexLock lock(&mutex_);
  for (auto item = sessions_.begin(); item != sessions_.end();) {
    if (item->second.used < oldest) {
      ended.push_back(std::move(item->second.session));
      item = sessions_.erase(item);
    } else {
      ++item;
    }
  }
}

void HttpSessions::Stop() {
  std::map<std::string, Entry> ended;
  std::shared_ptr<HttpSession> stateless;
  MutexLock lock(&mutex_);
  stopped_ = true;
  ended.swap(sessions_);
  stateless.swap(stateless_);
}

}  // namespace bridge
