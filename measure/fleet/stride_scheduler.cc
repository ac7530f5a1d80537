#include "measure/fleet/stride_scheduler.h"

#include <algorithm>

#include "src/base/hash.h"

namespace tilewright::measure::fleet {

void StrideScheduler::Set(const JobName& job, double weight) {
  const auto [found, added] = jobs_.try_emplace(job);
  if (!added && found->second.asked == weight) return;
  found->second.asked = weight;
  UpdateWeights();
  if (!added) return;
  Job& entry = found->second;
  entry.lead = OffsetOf(job) * UsualSeconds(job) / entry.weight;
  entry.used_share = RoundBegan(job) + entry.lead;
}

void StrideScheduler::Remove(const JobName& job) {
  if (jobs_.erase(job) > 0) UpdateWeights();
}

void StrideScheduler::UpdateWeights() {
  std::map<std::string, double> of_user;
  for (const auto& [name, job] : jobs_) of_user[name.user] += job.asked;
  for (auto& [name, job] : jobs_) {
    job.weight = job.asked * std::min(1.0, kMaxOfUser / of_user[name.user]);
  }
}

double StrideScheduler::OffsetOf(const JobName& job) const {
  constexpr std::uint64_t kParts = 1024;
  const std::uint64_t draw = Mix64(seed_ ^ Fnv1a64(job.user + "." + job.job)) % kParts;
  return static_cast<double>(draw) / kParts;
}

double StrideScheduler::Least(const JobName& except) const {
  std::optional<double> least;
  for (const auto& [name, job] : jobs_) {
    if (name != except) least = std::min(least.value_or(job.used_share), job.used_share);
  }
  return least.value_or(0);
}

double StrideScheduler::RoundBegan(const JobName& except) const {
  // Not the used share of the job that is next: on all devices the same present job would be next,
  // and each device would round its share the same way.
  std::optional<double> least;
  for (const auto& [name, job] : jobs_) {
    if (name != except)
      least = std::min(least.value_or(job.used_share - job.lead), job.used_share - job.lead);
  }
  return least.value_or(0);
}

double StrideScheduler::UsualSeconds(const JobName& job) const {
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && found->second.usual > 0) return found->second.usual;
  // A job without a finished order is assumed to be like the others.
  double sum = 0;
  int known = 0;
  for (const auto& [name, other] : jobs_) {
    if (other.usual <= 0) continue;
    sum += other.usual;
    ++known;
  }
  constexpr double kUnknown = 0.1;
  return known > 0 ? sum / known : kUnknown;
}

double StrideScheduler::Charge(const JobName& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return 0;
  const double usual = UsualSeconds(job);
  found->second.used_share += usual / found->second.weight;
  return usual;
}

void StrideScheduler::Settle(const JobName& job, double charged, double seconds) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  Job& entry = found->second;
  entry.used_share += (seconds - charged) / entry.weight;
  if (entry.usual <= 0) {
    // Its place in the round was computed from other jobs' durations, or from an estimate.
    const double lead = OffsetOf(job) * seconds / entry.weight;
    entry.used_share += lead - entry.lead;
    entry.lead = lead;
  }
  constexpr double kNewest = 0.1;
  entry.usual = entry.usual > 0 ? entry.usual + kNewest * (seconds - entry.usual) : seconds;
}

void StrideScheduler::Idle(const JobName& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  Job& entry = found->second;
  const double order = UsualSeconds(job) / entry.weight;
  const double place = std::max(RoundBegan(job) + entry.lead, Least(job) - order);
  entry.used_share = std::max(entry.used_share, place);
}

}  // namespace tilewright::measure::fleet
