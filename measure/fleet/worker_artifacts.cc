// Transfer of artifacts. A builder stores the parts of an artifact under its hash. A worker fetches
// the parts, and loads the artifact only if it has that hash.

#include <algorithm>

#include "measure/fleet/keys.h"
#include "measure/fleet/worker_core.h"

namespace tilewright::measure::fleet {
namespace {

// Far below the maximum size of a message.
constexpr std::int64_t kPartBytes = std::int64_t{512} << 10;
constexpr std::int64_t kMaxParts = kMaxArtifactBytes / kPartBytes;

std::int64_t PartsOf(std::int64_t size) {
  return std::max<std::int64_t>(1, (size + kPartBytes - 1) / kPartBytes);
}

}  // namespace

bool WorkerCore::PutArtifact(const Order& order, const Executor::Event& event) {
  const std::string_view bytes = event.artifact;
  const std::int64_t parts = PartsOf(std::ssize(bytes));
  if (parts > kMaxParts) return false;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::string name = ArtifactObject(order.job, event.built->hash, static_cast<int>(i));
    (void)broker_.PutObject(name,
                            bytes.substr(static_cast<std::size_t>(i * kPartBytes), kPartBytes));
  }
  return true;
}

void WorkerCore::GetArtifacts(std::uint64_t number, HeldOrder& held) {
  for (const Built& built : held.order.built) {
    const std::int64_t parts = std::min(PartsOf(built.size), kMaxParts);
    held.missing += static_cast<std::size_t>(parts);
  }
  held.artifacts.resize(held.missing);
  const std::vector<Built> wanted = held.order.built;
  const JobName job = held.order.job;
  for (const Built& built : wanted) {
    const std::int64_t parts = std::min(PartsOf(built.size), kMaxParts);
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::string name = ArtifactObject(job, built.hash, static_cast<int>(i));
      const bool asked = awaited_artifacts_.contains(name);
      awaited_artifacts_[name].insert(number);
      if (!asked) (void)broker_.GetObject(name);
    }
  }
}

void WorkerCore::HandleObject(const BrokerEvent& incoming) {
  const auto found = awaited_artifacts_.find(incoming.subject);
  if (found == awaited_artifacts_.end()) return;
  const std::set<std::uint64_t> numbers = std::move(found->second);
  awaited_artifacts_.erase(found);
  for (const std::uint64_t number : numbers) {
    const auto entry = held_.find(number);
    if (entry == held_.end()) continue;
    HeldOrder& held = entry->second;
    std::size_t at = 0;
    for (const Built& built : held.order.built) {
      const auto parts = static_cast<std::size_t>(std::min(PartsOf(built.size), kMaxParts));
      for (std::size_t i = 0; i < parts; ++i, ++at) {
        const std::string name = ArtifactObject(held.order.job, built.hash, static_cast<int>(i));
        if (name != incoming.subject || !held.artifacts[at].empty()) continue;
        held.artifacts[at] = incoming.payload;
        --held.missing;
      }
    }
    if (held.missing == 0) StartOrder(number, held);
  }
}

void WorkerCore::ForgetWanted(std::uint64_t number) {
  for (auto one = awaited_artifacts_.begin(); one != awaited_artifacts_.end();) {
    one->second.erase(number);
    one = one->second.empty() ? awaited_artifacts_.erase(one) : std::next(one);
  }
}

void WorkerCore::GiveUpArtifacts(double now) {
  std::vector<std::uint64_t> late;
  for (const auto& [number, held] : held_) {
    if (held.missing > 0 && now - held.taken_at > settings_.artifact_seconds)
      late.push_back(number);
  }
  for (const std::uint64_t number : late) {
    Executor::Event event;
    event.refusal = std::string(kArtifactUnavailable) + " did not come";
    PublishResult(held_.at(number), std::move(event));
    ForgetWanted(number);
    held_.erase(number);
  }
}

void WorkerCore::StartOrder(std::uint64_t number, HeldOrder& held) {
  std::vector<std::string> artifacts;
  std::size_t at = 0;
  for (const Built& built : held.order.built) {
    std::string& artifact = artifacts.emplace_back();
    const auto parts = static_cast<std::size_t>(std::min(PartsOf(built.size), kMaxParts));
    for (std::size_t i = 0; i < parts; ++i) artifact += held.artifacts[at++];
    if (Sha256(artifact) == built.hash) continue;
    Executor::Event event;
    event.refusal = kArtifactUnavailable;
    event.refusal += artifact.empty() ? " is not there" : " is another one than its hash says";
    PublishResult(held, std::move(event));
    held_.erase(number);
    return;
  }
  const bool others =
      std::ranges::any_of(held_, [](const auto& entry) { return entry.second.begun; });
  held.waits = held.order.alone && others;
  if (held.waits) return;
  held.artifacts.clear();
  held.begun = true;
  executor_.Start(number, held.order, artifacts);
}

void WorkerCore::StartAlone() {
  for (auto& [number, held] : held_) {
    if (held.waits) return StartOrder(number, held);
  }
}

}  // namespace tilewright::measure::fleet
