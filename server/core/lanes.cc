#include "server/core/lanes.h"

#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace server {

void Lanes::Stop() {
  launches.Stop();
  syncs.Stop();
  kills.Stop();
  descriptions.Stop();
  records.Stop();
  removals.Stop();
  reads.Stop();
  workspaces.Stop();
}

bool Lanes::StopWithin(std::chrono::milliseconds longest) {
  const auto stopped = std::make_shared<std::promise<void>>();
  std::future<void> end = stopped->get_future();
  std::thread([this, stopped] {
    Stop();
    stopped->set_value();
  }).detach();
  return end.wait_for(longest) == std::future_status::ready;
}

}  // namespace server
