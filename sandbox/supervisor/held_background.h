// For tests: a Background that keeps functions until the test runs them.

#ifndef SANDBOX_SUPERVISOR_HELD_BACKGROUND_H_
#define SANDBOX_SUPERVISOR_HELD_BACKGROUND_H_

#include <deque>
#include <utility>

#include "sandbox/supervisor/background.h"

namespace sandbox {

class HeldBackground final : public Background {
 public:
  explicit HeldBackground(std::deque<Function>* functions)
      : functions_(functions) {}
  ~HeldBackground() override { functions_->clear(); }
  void Run(Function function) override {
    functions_->push_back(std::move(function));
  }

 private:
  std::deque<Function>* const functions_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_HELD_BACKGROUND_H_
