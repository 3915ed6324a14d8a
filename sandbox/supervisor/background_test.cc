#include "sandbox/supervisor/background.h"

#include <semaphore.h>

#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace sandbox {
namespace {

class BackgroundThreadTest : public ::testing::Test {
 protected:
  BackgroundThreadTest() {
    ::sem_init(&begun_, 0, 0);
    ::sem_init(&go_, 0, 0);
  }
  ~BackgroundThreadTest() override {
    thread_.reset();
    ::sem_destroy(&begun_);
    ::sem_destroy(&go_);
  }

  sem_t begun_;
  sem_t go_;
  // Written by the thread; read when it has ended or posted.
  std::string log_;
  std::unique_ptr<BackgroundThread> thread_ =
      std::make_unique<BackgroundThread>();
};

TEST_F(BackgroundThreadTest, RunsFunctionsInOrder) {
  thread_->Run([this] { log_ += 'a'; });
  thread_->Run([this] { log_ += 'b'; });
  thread_->Run([this] { ::sem_post(&begun_); });
  ::sem_wait(&begun_);
  EXPECT_EQ(log_, "ab");
}

TEST_F(BackgroundThreadTest, EndsWithoutAFunction) { thread_.reset(); }

TEST_F(BackgroundThreadTest, WaitsForTheFunctionThatRunsWhenItEnds) {
  thread_->Run([this] {
    ::sem_post(&begun_);
    ::sem_wait(&go_);
    log_ += 'a';
  });
  ::sem_wait(&begun_);
  std::thread release([this] { ::sem_post(&go_); });
  thread_.reset();
  EXPECT_EQ(log_, "a");
  release.join();
}

}  // namespace
}  // namespace sandbox
