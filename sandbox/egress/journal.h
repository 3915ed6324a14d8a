// Reports refused names and connections, and connections that ended.

#ifndef SANDBOX_EGRESS_JOURNAL_H_
#define SANDBOX_EGRESS_JOURNAL_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"

namespace egress {

// Not thread-safe.
class Journal {
 public:
  // Returns false if the event cannot be taken now.
  using Sink = std::function<bool(const ::corral::egress::v1::Event&)>;
  using Clock = std::function<absl::Time()>;

  explicit Journal(Sink sink, Clock now = absl::Now)
      : sink_(std::move(sink)), now_(std::move(now)) {}

  // Passes the event on with the time. Leaves out a refusal that equals a
  // recent one, and events above a rate, since a command can cause any number
  // of events. The next event states how many were left out.
  void Report(::corral::egress::v1::Event event);

  static constexpr absl::Duration kRepetition = absl::Seconds(10);
  // Refusals and ends are counted apart, so that neither hides the other.
  static constexpr double kPerSecond = 50;
  static constexpr double kBurst = 200;

 private:
  struct Rate {
    double tokens = kBurst;
    absl::Time since = absl::InfinitePast();

    bool Take(absl::Time now);
  };
  struct Refusal {
    std::string key;
    absl::Time time;
  };

  bool IsRepetition(const ::corral::egress::v1::Event& event, absl::Time now);

  const Sink sink_;
  const Clock now_;
  Rate refusals_;
  Rate ends_;
  std::array<Refusal, 64> last_;
  size_t next_ = 0;
  uint64_t left_out_ = 0;
};

// A sink that sends each event in a Report, as a packet, without waiting.
Journal::Sink PacketSink(int socket);

}  // namespace egress

#endif  // SANDBOX_EGRESS_JOURNAL_H_
