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

/// What a worker is to do.
struct Order {
  Json message;
  double limit_seconds = 0;               ///< after that it counts as hanging
  std::vector<std::uint64_t> jobs = {};   ///< one answer for each; where there are none, one
  std::vector<std::uint64_t> tasks = {};  ///< that the message names
  std::string files = {};                 ///< lines that are to be read before it
};

/// A worker as its supervisor sees it: connected when needed, told every task once, with a deadline
/// for each order it has. Not thread-safe. Included by .cc files of measure/ only.
class Worker {
 public:
  static constexpr std::uint64_t kNoJob = 0;  ///< stands for an order about none

  /// index: its place in the pool.
  Worker(std::unique_ptr<Transport> transport, Clock& clock, std::size_t index)
      : transport_(std::move(transport)), clock_(&clock), index_(index) {}

  /// Gives an order to a worker, who has it from now on, also if it could not be sent.
  /// Errors: those of Transport.
  Status Send(const Order& order, const TaskTable& tasks);
  /// Its answer about a job, or about the order without any, has come.
  /// returns false if it does not have that.
  bool Answered(std::uint64_t job = kNoJob);
  std::size_t orders() const { return pending_.size(); }
  bool busy() const { return !pending_.empty(); }
  /// Those of its orders that it has not answered.
  std::vector<std::uint64_t> jobs() const;
  int orders_since_start() const { return orders_since_start_; }

  /// The next moment at which it may be overdue; infinite for one that has nothing or stands still.
  double deadline() const;
  /// After the deadline: whether it used its time, or had it three times over. Else the deadline
  /// moves on: the machine is busy with other things.
  bool IsOverdue();
  /// Lets it stand still, where that can be done, or go on: its deadlines move along.
  void Pause(bool pause);
  bool paused() const { return paused_at_.has_value(); }
  /// How long it has stood still, in all, since it got the order that it has had for longest.
  double paused_seconds() const;
  /// As Transport::End; what it had it has no more.
  std::string End(bool at_once);

  Transport& transport() { return *transport_; }
  const Transport& transport() const { return *transport_; }
  bool connected() const { return transport_->connected(); }
  std::size_t index() const { return index_; }

  // Notes of its pool.
  double ready_after = 0;  ///< gets no order before (it failed just now); monotonic seconds
  int failures = 0;        ///< since its last result
  bool probing = false;    ///< what it has is a probe

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
