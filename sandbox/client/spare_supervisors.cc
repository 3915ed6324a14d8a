#include "sandbox/client/spare_supervisors.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sandbox {

SpareSupervisors::SpareSupervisors(size_t most_at_once)
    : most_at_once_(most_at_once) {
  pools_[kDefault].wanted = LeastOf(kDefault);
}

size_t SpareSupervisors::LeastOf(const Shape& shape) {
  return shape == kDefault ? 1 : 0;
}

SupervisorProcess SpareSupervisors::Take(const Shape& shape,
                                         Clock::time_point now) {
  if (pools_.size() >= kMostShapes && pools_.count(shape) == 0) {
    return SupervisorProcess();
  }
  Pool& pool = pools_[shape];
  const bool asked_before =
      pool.wanted > 0 || pool.period_end != Clock::time_point::max();
  pool.last_request = now;
  SupervisorProcess taken;
  if (pool.spares.empty()) {
    if (asked_before) {
      WantMore(pool, now);
    }
  } else {
    taken = std::move(pool.spares.front().process);
    pool.spares.pop_front();
  }
  pool.unused = std::min(pool.unused, pool.spares.size());
  const size_t least = LeastOf(shape);
  if ((pool.wanted > least || least == 0) &&
      pool.period_end == Clock::time_point::max()) {
    pool.period_end = now + kPeriod;
  }
  return taken;
}

void SpareSupervisors::WantMore(Pool& pool, Clock::time_point now) {
  size_t in_all = 0;
  for (const auto& [shape, each] : pools_) {
    in_all += each.wanted;
  }
  const size_t room = in_all < kMost ? kMost - in_all : MakeRoom(now);
  pool.wanted += std::min(std::max<size_t>(pool.wanted, 1), room);
}

void SpareSupervisors::MoveLast(Pool& pool,
                                std::vector<SupervisorProcess>& to) {
  to.push_back(std::move(pool.spares.back().process));
  pool.spares.pop_back();
}

size_t SpareSupervisors::MakeRoom(Clock::time_point now) {
  std::pair<const Shape, Pool>* longest = nullptr;
  for (auto& each : pools_) {
    if (each.second.wanted > LeastOf(each.first) &&
        now - each.second.last_request >= kRest &&
        (longest == nullptr ||
         each.second.last_request < longest->second.last_request)) {
      longest = &each;
    }
  }
  if (longest == nullptr) {
    return 0;
  }
  Pool& pool = longest->second;
  const size_t least = LeastOf(longest->first);
  while (pool.spares.size() > least) {
    MoveLast(pool, over_);
  }
  return std::exchange(pool.wanted, least) - least;
}

std::optional<SpareSupervisors::Shape> SpareSupervisors::Lacking() const {
  for (const auto& [shape, pool] : pools_) {
    if (pool.spares.size() < pool.wanted) {
      return shape;
    }
  }
  return std::nullopt;
}

std::optional<SpareSupervisors::Shape> SpareSupervisors::ShapeToMake(
    Clock::time_point now) {
  return CountMaking(now) < most_at_once_ ? Lacking() : std::nullopt;
}

void SpareSupervisors::Add(const Shape& shape, SupervisorProcess spare,
                           Clock::time_point now) {
  const auto pool = pools_.find(shape);
  if (pool != pools_.end() &&
      pool->second.spares.size() < pool->second.wanted) {
    pool->second.spares.push_back({std::move(spare), now});
  } else {
    over_.push_back(std::move(spare));
  }
}

size_t SpareSupervisors::CountMaking(Clock::time_point now) {
  size_t making = 0;
  for (auto& [shape, pool] : pools_) {
    for (auto& [process, started] : pool.spares) {
      const bool alive = process.answered || IsAlive(process);
      if (alive && !process.answered && now - started < kMakingPatience) {
        ++making;
      }
    }
  }
  return making;
}

std::vector<SupervisorProcess> SpareSupervisors::Forget(const Shape& shape) {
  std::vector<SupervisorProcess> spares;
  const auto pool = pools_.find(shape);
  if (pool != pools_.end() && LeastOf(shape) == 0) {
    while (!pool->second.spares.empty()) {
      MoveLast(pool->second, spares);
    }
    pools_.erase(pool);
  }
  return spares;
}

std::vector<SupervisorProcess> SpareSupervisors::Trim(Clock::time_point now) {
  std::vector<SupervisorProcess> over = std::exchange(over_, {});
  for (auto each = pools_.begin(); each != pools_.end();) {
    auto& [shape, pool] = *each;
    if (now < pool.period_end) {
      ++each;
      continue;
    }
    const size_t least = LeastOf(shape);
    pool.wanted -= std::min(pool.unused, pool.wanted - least);
    while (pool.spares.size() > pool.wanted) {
      MoveLast(pool, over);
    }
    pool.unused = pool.spares.size();
    pool.period_end =
        pool.wanted > least ? now + kPeriod : Clock::time_point::max();
    each = pool.wanted == 0 ? pools_.erase(each) : std::next(each);
  }
  return over;
}

SpareSupervisors::Clock::time_point SpareSupervisors::trim_at() const {
  Clock::time_point first =
      over_.empty() ? Clock::time_point::max() : Clock::time_point::min();
  for (const auto& [shape, pool] : pools_) {
    first = std::min(first, pool.period_end);
  }
  return first;
}

std::vector<SupervisorProcess> SpareSupervisors::Clear() {
  std::vector<SupervisorProcess> all = std::exchange(over_, {});
  for (auto& [shape, pool] : pools_) {
    while (!pool.spares.empty()) {
      MoveLast(pool, all);
    }
  }
  pools_.clear();
  return all;
}

}  // namespace sandbox
