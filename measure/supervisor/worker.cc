#include "measure/supervisor/worker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "measure/messages.h"

namespace tilewright::measure {
namespace {

/// Time limit for a worker to read an order before it counts as lost.
constexpr double kWriteSeconds = 10;
/// The same for the files of one order, which go to a runner on another machine.
constexpr double kFilesSeconds = 300;

}  // namespace

Status Worker::Send(const Order& order, const TaskTable& tasks) {
  const bool anew = !connected();
  const Status connected_now = transport_->Connect();
  if (anew) {
    known_tasks_.clear();
    orders_since_start_ = 0;
    paused_at_.reset();
  }
  std::vector<std::uint64_t> jobs = order.jobs;
  if (jobs.empty()) jobs = {kNoJob};
  pending_.push_back({std::move(jobs), order.limit_seconds, 0, 0, 0, 0});
  TW_RETURN_IF_ERROR(connected_now);
  if (!order.files.empty()) TW_RETURN_IF_ERROR(transport_->Send(order.files, kFilesSeconds));
  std::string lines;
  for (const std::uint64_t task : order.tasks) {
    if (known_tasks_.insert(task).second)
      lines += LineOf(ToJson(TaskMessage{task, *tasks.Find(task)}));
  }
  Pending& sent = pending_.back();
  sent.sent_at = clock_->MonotonicSeconds();
  sent.deadline = sent.sent_at + order.limit_seconds;
  sent.processor_at_send = transport_->ProcessCpuSeconds();
  ++orders_since_start_;
  return transport_->Send(lines + LineOf(order.message), kWriteSeconds);
}

bool Worker::Answered(std::uint64_t job) {
  for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
    if (std::erase(pending->jobs, job) == 0) continue;
    if (pending->jobs.empty()) pending_.erase(pending);
    return true;
  }
  return false;
}

std::vector<std::uint64_t> Worker::jobs() const {
  std::vector<std::uint64_t> all;
  for (const Pending& pending : pending_) {
    std::ranges::copy_if(pending.jobs, std::back_inserter(all),
                         [](std::uint64_t job) { return job != kNoJob; });
  }
  return all;
}

double Worker::deadline() const {
  double first = std::numeric_limits<double>::infinity();
  if (paused()) return first;
  for (const Pending& pending : pending_) first = std::min(first, pending.deadline);
  return first;
}

bool Worker::IsOverdue() {
  const double now = clock_->MonotonicSeconds();
  if (now < deadline() || !busy() || paused()) return false;
  for (Pending& pending : pending_) {
    if (now < pending.deadline) continue;
    const double limit = pending.limit_seconds;
    const double used = transport_->ProcessCpuSeconds() - pending.processor_at_send;
    if (used > 0.7 * limit || now > pending.sent_at + 3 * limit) return true;
    pending.deadline = now + 0.25 * limit;
  }
  return false;
}

void Worker::Pause(bool pause) {
  if (pause == paused()) return;
  const bool stands = transport_->Pause(pause);
  const double now = clock_->MonotonicSeconds();
  if (stands) {
    paused_at_ = now;
  } else if (paused()) {
    for (Pending& pending : pending_) {
      const double paused_before = now - std::max(*paused_at_, pending.sent_at);
      pending.sent_at += paused_before;
      pending.deadline += paused_before;
      pending.paused_before += paused_before;
    }
    paused_at_.reset();
  }
}

double Worker::paused_seconds() const {
  if (pending_.empty()) return 0;
  const Pending& first = pending_.front();
  if (!paused()) return first.paused_before;
  return first.paused_before + clock_->MonotonicSeconds() - std::max(*paused_at_, first.sent_at);
}

std::string Worker::End(bool at_once) {
  pending_.clear();
  paused_at_.reset();
  return transport_->End(at_once);
}

}  // namespace tilewright::measure
