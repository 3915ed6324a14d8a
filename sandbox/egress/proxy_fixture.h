// EgressTest, with the way out in a thread of the test or as the program with
// its filter. In a thread, sanitizers see it; as the program, it shows that the
// filter allows all its calls.

#ifndef SANDBOX_EGRESS_PROXY_FIXTURE_H_
#define SANDBOX_EGRESS_PROXY_FIXTURE_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/egress_fixture.h"
#include "sandbox/egress/journal.h"
#include "sandbox/egress/proxy.h"
#include "sandbox/egress/supervisor_link.h"

namespace egress {

enum class RunsAs { kThread, kProgram };

class ProxyTest : public EgressTest,
                  public ::testing::WithParamInterface<RunsAs> {
 protected:
  ProxyTest();
  ~ProxyTest() override;

  void Launch(const std::vector<int>& fds) override;
  void Kill() override;

  // Waits until the way out has given up.
  void AwaitEnd();

 private:
  sandbox::UniqueFd events_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<sandbox::EventLoop> loop_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<SupervisorLink> link_;
  std::thread thread_;
};

inline std::string NameOf(const ::testing::TestParamInfo<RunsAs>& runs) {
  return runs.param == RunsAs::kThread ? "InAThread" : "AsTheProgram";
}

}  // namespace egress

#endif  // SANDBOX_EGRESS_PROXY_FIXTURE_H_
