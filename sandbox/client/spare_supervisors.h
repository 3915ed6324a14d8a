// Supervisors whose sandboxes are ready except for what a request says: as many
// as were lately asked for at a time, for each shape of sandbox.
//
//   a shape is asked for twice in a period   -> one of it is wanted
//   a later request finds none               -> twice as many, kMost in all
//   a period leaves some over                -> so many fewer; they end
//   there is no room for more of a shape     -> those of one that rests end
//
// One of the default shape is always wanted. Each spare is taken once, and has
// belonged to nobody before. Not thread-safe.

#ifndef SANDBOX_CLIENT_SPARE_SUPERVISORS_H_
#define SANDBOX_CLIENT_SPARE_SUPERVISORS_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/client/supervisor_process.h"

namespace sandbox {

class SpareSupervisors {
 public:
  using Clock = std::chrono::steady_clock;
  // A serialized description: see ShapeOf(). A spare with a profile alone can
  // become any sandbox with that profile.
  using Shape = std::string;

  // Each takes 1.2 MB and four processes.
  static constexpr size_t kMost = 8;
  // The shapes that are remembered.
  static constexpr size_t kMostShapes = 64;
  // The time after which spares that nobody needed end.
  static constexpr std::chrono::seconds kPeriod{10};
  // The time without a request after which a shape rests.
  static constexpr std::chrono::seconds kRest{1};
  // The time after which a spare that has not answered hinders no other one.
  static constexpr std::chrono::seconds kMakingPatience{1};

  // At most `most_at_once`, 1 or more, are made at the same time: with more
  // than the host has processors, each would take longer, and so would a
  // sandbox whose request found none.
  explicit SpareSupervisors(size_t most_at_once);

  // A sandbox is requested. Returns the oldest spare for it, which is the most
  // likely to be ready, or one without a socket.
  SupervisorProcess Take(const Shape& shape, Clock::time_point now);

  // Returns the shape of a spare that is lacking, or nothing while all are
  // made.
  std::optional<Shape> Lacking() const;
  // The same, but nothing while `most_at_once` are being made. Reads the
  // answers of spares.
  std::optional<Shape> ShapeToMake(Clock::time_point now);
  // Adds a spare that was lacking. If it no longer is, Trim() returns it.
  void Add(const Shape& shape, SupervisorProcess spare, Clock::time_point now);

  // No spare of this shape is wanted until it is asked for twice again. Returns
  // those that there are.
  std::vector<SupervisorProcess> Forget(const Shape& shape);

  // Ends the periods that are over by `now`. Returns the spares that nobody
  // needed in them; they end when the caller closes them.
  std::vector<SupervisorProcess> Trim(Clock::time_point now);
  // The time of the next Trim(); no time if nothing is over.
  Clock::time_point trim_at() const;

  // Returns all spares. No more are wanted then.
  std::vector<SupervisorProcess> Clear();

 private:
  struct Spare {
    SupervisorProcess process;
    Clock::time_point started;
  };

  struct Pool {
    size_t wanted = 0;
    Clock::time_point last_request = {};
    // The oldest one first.
    std::deque<Spare> spares;
    // The smallest number of spares in this period.
    size_t unused = 0;
    // No time: no period has begun.
    Clock::time_point period_end = Clock::time_point::max();
  };

  // The shape of a sandbox with the default profile.
  static constexpr char kDefault[] = "";
  static size_t LeastOf(const Shape& shape);
  void WantMore(Pool& pool, Clock::time_point now);
  // Returns how many spares have yet to answer.
  size_t CountMaking(Clock::time_point now);
  // Moves the newest spare of the pool.
  static void MoveLast(Pool& pool, std::vector<SupervisorProcess>& to);
  // Ends the spares of the shape that rests for the longest time. Returns how
  // many fewer are wanted.
  size_t MakeRoom(Clock::time_point now);

  const size_t most_at_once_;
  std::map<Shape, Pool> pools_;
  // Spares that are to end.
  std::vector<SupervisorProcess> over_;
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_SPARE_SUPERVISORS_H_
