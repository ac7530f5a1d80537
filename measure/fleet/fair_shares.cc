#include "measure/fleet/fair_shares.h"

#include <algorithm>

#include "src/base/hash.h"

namespace tilewright::measure::fleet {

void FairShares::Set(const JobName& job, double weight) {
  const auto [found, added] = jobs_.try_emplace(job);
  if (!added && found->second.asked == weight) return;
  found->second.asked = weight;
  Weigh();
  if (!added) return;
  constexpr std::uint64_t kParts = 1024;
  const std::uint64_t draw = Mix64(seed_ ^ Fnv1a64(job.user + "." + job.job)) % kParts;
  const double order = UsualSeconds(job) / found->second.weight;
  found->second.had = Front(job) + order * static_cast<double>(draw) / kParts;
}

void FairShares::Remove(const JobName& job) {
  if (jobs_.erase(job) > 0) Weigh();
}

void FairShares::Weigh() {
  std::map<std::string, double> of_user;
  for (const auto& [name, job] : jobs_) of_user[name.user] += job.asked;
  for (auto& [name, job] : jobs_) {
    job.weight = job.asked * std::min(1.0, kMostOfUser / of_user[name.user]);
  }
}

double FairShares::Front(const JobName& except) const {
  std::optional<double> least;
  for (const auto& [name, job] : jobs_) {
    if (name != except) least = std::min(least.value_or(job.had), job.had);
  }
  return least.value_or(0);
}

double FairShares::UsualSeconds(const JobName& job) const {
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && found->second.usual > 0) return found->second.usual;
  // Until it has shown, it is like the others.
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

double FairShares::Charge(const JobName& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return 0;
  const double usual = UsualSeconds(job);
  found->second.had += usual / found->second.weight;
  return usual;
}

void FairShares::Settle(const JobName& job, double charged, double seconds) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  Job& entry = found->second;
  entry.had += (seconds - charged) / entry.weight;
  constexpr double kNewest = 0.1;
  entry.usual = entry.usual > 0 ? entry.usual + kNewest * (seconds - entry.usual) : seconds;
}

void FairShares::Idle(const JobName& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  found->second.had = std::max(found->second.had, Front(job));
}

}  // namespace tilewright::measure::fleet
