#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "measure/supervisor/transport.h"
#include "measure/task_table.h"
#include "src/base/clock.h"

namespace tilewright::measure {

/// Order for a worker.
struct Order {
  Json message;
  double limit_seconds = 0;               ///< after this time the order counts as hanging
  std::vector<std::uint64_t> jobs = {};   ///< one reply for each; if empty, one reply
  std::vector<std::uint64_t> tasks = {};  ///< that the message refers to
  std::string files = {};                 ///< lines that the worker must read before it
};

/// Worker as its supervisor sees it: connects on demand, sends every task once, and keeps a
/// deadline for each order. Not thread-safe. Included by .cc files of measure/ only.
class Worker {
 public:
  static constexpr std::uint64_t kNoJob = 0;  ///< represents an order without jobs

  /// index: its position in the pool.
  Worker(std::unique_ptr<Transport> transport, Clock& clock, std::size_t index)
      : transport_(std::move(transport)), clock_(&clock), index_(index) {}

  /// Sends an order to the worker. The worker holds it from now on, even if sending failed. Errors:
  /// those of Transport.
  Status Send(const Order& order, const TaskTable& tasks);
  /// Records the reply about a job, or about the order without jobs. Returns false if the worker
  /// does not hold it.
  bool Answered(std::uint64_t job = kNoJob);
  std::size_t orders() const { return pending_.size(); }
  bool busy() const { return !pending_.empty(); }
  /// Returns the jobs without a reply.
  std::vector<std::uint64_t> jobs() const;
  int orders_since_start() const { return orders_since_start_; }

  /// Returns the next time at which it may be overdue; infinite if it is idle or paused.
  double deadline() const;
  /// Checks the worker after the deadline. Returns true if it has used its processor time, or had
  /// three times the limit. Else extends the deadline: the machine is busy with other work.
  bool IsOverdue();
  /// Pauses or resumes the worker, if possible, and shifts its deadlines.
  void Pause(bool pause);
  bool paused() const { return paused_at_.has_value(); }
  /// Returns the total pause since it received its oldest order.
  double paused_seconds() const;
  /// Ends the worker as Transport::End does, and drops its orders.
  std::string End(bool at_once);

  Transport& transport() { return *transport_; }
  const Transport& transport() const { return *transport_; }
  bool connected() const { return transport_->connected(); }
  std::size_t index() const { return index_; }

  // State that its pool keeps.
  double ready_after = 0;  ///< earliest time of its next order after a failure; monotonic seconds
  int failures = 0;        ///< since its last result
  bool probing = false;    ///< its order is a probe

 private:
  struct Pending {
    std::vector<std::uint64_t> jobs;
    double limit_seconds, sent_at, deadline, processor_at_send, paused_before;
  };
  std::unique_ptr<Transport> transport_;
  Clock* clock_;
  std::size_t index_;
  std::vector<Pending> pending_;
  std::set<std::uint64_t> known_tasks_;  // numbers of tasks
  int orders_since_start_ = 0;
  std::optional<double> paused_at_;
};

}  // namespace tilewright::measure
