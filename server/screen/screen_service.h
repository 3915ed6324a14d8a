// corral.v1.ScreenService.

#ifndef SERVER_SCREEN_SCREEN_SERVICE_H_
#define SERVER_SCREEN_SCREEN_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "corral/v1/screen_service.grpc.pb.h"
#include "server/core/disk_reads.h"
#include "server/core/execution.h"
#include "server/core/sandboxes.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"
#include "server/screen/live_screens.h"

namespace server {

// Thread-safe: gRPC calls the methods on its threads. None of them blocks.
class ScreenService final : public corral::v1::ScreenService::CallbackService {
 public:
  // All pointers must outlive the service.
  ScreenService(Sandboxes* sandboxes, TimerQueue* timers, Activity* activity)
      : sandboxes_(sandboxes),
        activity_(activity),
        screens_(timers),
        reads_(kReadThreads) {}

  grpc::ServerUnaryReactor* GetScreen(
      grpc::CallbackServerContext* context,
      const corral::v1::GetScreenRequest* request,
      corral::v1::GetScreenResponse* response) override;
  grpc::ServerUnaryReactor* ClearScreen(
      grpc::CallbackServerContext* context,
      const corral::v1::ClearScreenRequest* request,
      google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* ListTerminalTimes(
      grpc::CallbackServerContext* context,
      const corral::v1::ListTerminalTimesRequest* request,
      corral::v1::ListTerminalTimesResponse* response) override;

 private:
  // Fails with INVALID_FIELD, EXECUTION_NOT_FOUND, NOT_A_TERMINAL or
  // SANDBOX_NOT_READY.
  absl::StatusOr<std::shared_ptr<Execution>> Find(const std::string& name);

  static constexpr size_t kReadThreads = 2;

  Sandboxes* const sandboxes_;
  Activity* const activity_;
  LiveScreens screens_;
  DiskReads reads_;
};

}  // namespace server

#endif  // SERVER_SCREEN_SCREEN_SERVICE_H_
