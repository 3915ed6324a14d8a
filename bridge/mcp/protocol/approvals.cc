#include "bridge/mcp/protocol/approvals.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/mcp/terminal/random_hex.h"

namespace bridge {
namespace {

constexpr char kRemember[] = "remember";
constexpr char kQuestion[] = "approval";
constexpr char kMethod[] = "elicitation/create";
constexpr size_t kTokenDigits = 32;
constexpr std::chrono::milliseconds kLookInterval(50);

OrderedJson Form(const std::string& text, bool can_remember) {
  OrderedJson fields = OrderedJson::object();
  if (can_remember) {
    fields[kRemember] = {{"type", "boolean"},
                         {"title", "Also later in this session"},
                         {"default", false}};
  }
  return {{"message", text},
          {"requestedSchema",
           {{"type", "object"}, {"properties", std::move(fields)}}}};
}

// `result` is an ElicitResult.
Approvals::Answer ToAnswer(const OrderedJson& result) {
  if (!result.is_object()) {
    return Approvals::Answer::kRejected;
  }
  const OrderedJson action = result.value("action", OrderedJson());
  if (action != "accept") {
    return Approvals::Answer::kRejected;
  }
  const OrderedJson content = result.value("content", OrderedJson());
  return content.is_object() &&
                 content.value(kRemember, OrderedJson()) == OrderedJson(true)
             ? Approvals::Answer::kAllowedForSession
             : Approvals::Answer::kAllowed;
}

std::string Line(const OrderedJson& message) {
  return absl::StrCat(SerializeOrdered(message), "\n");
}

}  // namespace

Approvals::Approvals(std::function<Clock::time_point()> now)
    : now_(std::move(now)) {}

Approvals::Answer Approvals::Ask(const std::string& text, ReplyChannel* channel,
                                 const std::function<bool()>& is_cancelled) {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::string id = absl::StrCat("corral-", ++asked_);
  const std::string key = CanonicalId(absl::StrCat("\"", id, "\""));
  const Answer& answer = waiting_.emplace(key, Answer::kNone).first->second;
  lock.unlock();
  channel->Send(Line({{"jsonrpc", "2.0"},
                      {"id", id},
                      {"method", kMethod},
                      {"params", Form(text, /*can_remember=*/true)}}));
  lock.lock();
  const auto deadline = now_() + kLongestQuestion;
  while (answer == Answer::kNone && now_() < deadline) {
    lock.unlock();
    const bool cancelled = is_cancelled();
    lock.lock();
    if (cancelled) {
      break;
    }
    changed_.wait_for(lock, kLookInterval);
  }
  const Answer given = answer;
  waiting_.erase(key);
  lock.unlock();
  if (given == Answer::kNone) {
    channel->Send(Line({{"jsonrpc", "2.0"},
                        {"method", "notifications/cancelled"},
                        {"params", {{"requestId", id}}}}));
  }
  return given;
}

void Approvals::OnResponse(const Message& message) {
  const OrderedJson result =
      ParseOrderedJson(message.result()).value_or(OrderedJson());
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = waiting_.find(CanonicalId(message.id()));
  if (found != waiting_.end()) {
    found->second = ToAnswer(result);
    changed_.notify_all();
  }
}

OrderedJson Approvals::Demand(const std::string& text,
                              const std::string& call) {
  const std::string token = RandomHex(kTokenDigits);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    demanded_.push_back({token, call});
    if (demanded_.size() > kMaxDemands) {
      demanded_.erase(demanded_.begin());
    }
  }
  return {{"inputRequests",
           {{kQuestion,
             {{"method", kMethod},
              {"params", Form(text, /*can_remember=*/false)}}}}},
          {"requestState", token}};
}

std::optional<Approvals::Answer> Approvals::Redeem(const OrderedJson& params,
                                                   const std::string& call) {
  const OrderedJson token = params.value("requestState", OrderedJson());
  const OrderedJson responses = params.value("inputResponses", OrderedJson());
  if (!token.is_string() || !responses.is_object() ||
      !responses.contains(kQuestion)) {
    return std::nullopt;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(
      demanded_.begin(), demanded_.end(), [&](const Demanded& each) {
        return each.token == token.get<std::string>() && each.call == call;
      });
  if (found == demanded_.end()) {
    return std::nullopt;
  }
  demanded_.erase(found);
  return ToAnswer(responses[kQuestion]);
}

}  // namespace bridge
