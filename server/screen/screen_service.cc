#include "server/screen/screen_service.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/terminal_times.h"
#include "server/api/errors.h"
#include "server/api/validation.h"
#include "server/rpc/find_execution.h"
#include "server/rpc/found_execution.h"
#include "server/rpc/unary_reply.h"
#include "server/screen/live_screen.h"

namespace server {
namespace {

constexpr uint64_t kMaxScrollback = 1000;
constexpr size_t kMaxTimes = 10'000;
// No file holds more; see TerminalTimesWriter.
constexpr uint64_t kMaxTimesOfATerminal = uint64_t{1} << 32;

absl::Status CannotStart(const absl::Status& cause) {
  return ServerFault("start an emulator", cause);
}

absl::Status ListTimes(const Execution& execution,
                       const corral::v1::ListTerminalTimesRequest& request,
                       corral::v1::ListTerminalTimesResponse* response) {
  const auto times =
      sandbox::ReadTerminalTimes(execution.path(), request.skip(), kMaxTimes);
  if (absl::IsNotFound(times.status())) {
    return absl::OkStatus();
  }
  if (!times.ok()) {
    return ServerFault("read the times of a terminal", times.status());
  }
  for (const sandbox::TerminalTime& time : *times) {
    corral::v1::TerminalTime* const item = response->add_times();
    item->set_offset(time.offset);
    *item->mutable_elapsed() =
        google::protobuf::util::TimeUtil::MillisecondsToDuration(
            static_cast<int64_t>(time.milliseconds));
    if (time.rows != 0) {
      item->mutable_size()->set_rows(time.rows);
      item->mutable_size()->set_columns(time.columns);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<Execution>> ScreenService::Find(
    const std::string& name) {
  ASSIGN_OR_RETURN(const FoundExecution found, FindExecution(sandboxes_, name));
  if (!found.execution->command().has_terminal()) {
    return Error(absl::StatusCode::kFailedPrecondition,
                 corral::v1::NOT_A_TERMINAL,
                 absl::StrCat(name, " has no terminal"), {{"name", name}});
  }
  return found.execution;
}

grpc::ServerUnaryReactor* ScreenService::GetScreen(
    grpc::CallbackServerContext* context,
    const corral::v1::GetScreenRequest* request,
    corral::v1::GetScreenResponse* response) {
  Activity::Call call = activity_->BeginCall();
  absl::Status checked = CheckRange(
      "scrollback_lines", request->scrollback_lines(), {0, kMaxScrollback});
  const absl::StatusOr<std::shared_ptr<Execution>> execution =
      Find(request->name());
  checked.Update(execution.status());
  if (!checked.ok()) {
    return Reply(context, checked);
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  screens_.Run(*execution, [execution = *execution, request, response,
                            reply = ReplyLater(reactor, std::move(call))](
                               absl::StatusOr<LiveScreen*> screen) mutable {
    reply(screen.ok() ? (*screen)->Get(*execution, *request, response)
                      : CannotStart(screen.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* ScreenService::ClearScreen(
    grpc::CallbackServerContext* context,
    const corral::v1::ClearScreenRequest* request,
    google::protobuf::Empty* /*response*/) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<std::shared_ptr<Execution>> execution =
      Find(request->name());
  if (!execution.ok()) {
    return Reply(context, execution.status());
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  screens_.Run(*execution, [execution = *execution,
                            reply = ReplyLater(reactor, std::move(call))](
                               absl::StatusOr<LiveScreen*> screen) mutable {
    reply(screen.ok() ? (*screen)->Clear(*execution)
                      : CannotStart(screen.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* ScreenService::ListTerminalTimes(
    grpc::CallbackServerContext* context,
    const corral::v1::ListTerminalTimesRequest* request,
    corral::v1::ListTerminalTimesResponse* response) {
  Activity::Call call = activity_->BeginCall();
  absl::Status checked =
      CheckRange("skip", request->skip(), {0, kMaxTimesOfATerminal});
  const absl::StatusOr<std::shared_ptr<Execution>> execution =
      Find(request->name());
  checked.Update(execution.status());
  if (!checked.ok()) {
    return Reply(context, checked);
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reads_.Run((*execution)->name(),
             [execution = *execution, request, response,
              reply = ReplyLater(reactor, std::move(call))]() mutable {
               reply(ListTimes(*execution, *request, response));
             });
  return reactor;
}

}  // namespace server
