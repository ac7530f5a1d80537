// A race runs on one device. A device that cannot build receives built finalists: builders first
// get an order for each, and finalists that fail to build do not race.

#include <utility>

#include "measure/fleet/dispatcher.h"

namespace tilewright::measure::fleet {

std::optional<std::uint64_t> Dispatcher::StartRace(const std::vector<Candidate>& finalists,
                                                   const RaceSettings& terms,
                                                   const std::optional<DeviceName>& other_than) {
  const DeviceRegistry::Device* best = nullptr;
  DeviceName name;
  for (const auto& [one, device] : device_registry_.devices()) {
    if (!DeviceRegistry::IsUsable(device) || (!device.announcement.builds && !split_)) continue;
    if (other_than && *other_than == one) continue;
    // Prefers a device of another worker, whose result is independent, and the most recent good
    // baseline.
    const auto rank = [&](const DeviceName& which, double good_at) {
      return std::pair(other_than && other_than->worker != which.worker, good_at);
    };
    if (best != nullptr && rank(one, device.good_at) <= rank(name, best->good_at)) continue;
    best = &device;
    name = one;
  }
  if (best == nullptr) return std::nullopt;
  const std::uint64_t id = next_race_++;
  Race& race = racing_[id];
  race.device = name;
  race.limit_seconds = terms.seconds + terms.wait_seconds + settings_.race_limit_seconds;
  race.trials.resize(finalists.size());
  race.built.resize(finalists.size());
  Order& order = race.order;
  order = OrderFor(finalists.front());
  order.stage = Stage::kRace;
  order.candidates = finalists;
  order.known_seconds = terms.known_seconds;
  order.known_seconds.resize(finalists.size(), 0);
  order.anchor = terms.anchor;
  order.race_seconds = terms.seconds;
  order.wait_seconds = terms.wait_seconds;
  if (best->announcement.builds) {
    PublishRace(id);
    return id;
  }
  race.missing = finalists.size();
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    Order build = OrderFor(finalists[i]);
    build.stage = Stage::kBuild;
    OrderContext context;
    context.purpose = Purpose::kRaceBuild;
    context.race = id;
    context.kernel = i;
    Enqueue(std::move(build), std::move(context), 0);
  }
  return id;
}

void Dispatcher::PublishRace(std::uint64_t id) {
  Race& race = racing_.at(id);
  Order order = race.order;
  order.candidates.clear();
  order.known_seconds.clear();
  order.anchor.reset();
  race.racers.clear();
  const DeviceRegistry::Device* device = device_registry_.Find(race.device);
  const bool builds = device != nullptr && device->announcement.builds;
  for (std::size_t i = 0; i < race.order.candidates.size(); ++i) {
    if (!builds && !race.built[i]) continue;
    if (race.order.anchor == i) order.anchor = race.racers.size();
    race.racers.push_back(i);
    order.candidates.push_back(race.order.candidates[i]);
    order.known_seconds.push_back(race.order.known_seconds[i]);
    if (!builds) order.built.push_back(*race.built[i]);
  }
  if (order.candidates.empty()) {
    races_[id] = {race.device, std::move(race.trials)};
    racing_.erase(id);
    return;
  }
  OrderContext context;
  context.purpose = Purpose::kRace;
  context.race = id;
  context.limit_at = clock_.MonotonicSeconds() + race.limit_seconds;
  PublishOrder(race.device, std::move(order), context);
}

void Dispatcher::AcceptRaceBuild(const LeaseTable::Entry& entry, const DeviceName& device,
                                 Trial trial, std::optional<Built> built) {
  const OrderContext context = contexts_.at(entry.order.sequence);
  const Candidate candidate = entry.order.candidates.front();
  Drop(entry.order.sequence, /*acknowledge=*/true);
  if (!built || !settings_.make_local_executor) {
    return RacerIsBuilt(context, std::move(trial), std::move(built));
  }
  ConfirmBuilt({candidate, *std::move(built), device, 0, {}, std::move(trial), context});
}

void Dispatcher::RacerIsBuilt(const OrderContext& context, Trial trial,
                              std::optional<Built> built) {
  const auto found = racing_.find(context.race);
  if (found == racing_.end()) return;
  Race& race = found->second;
  race.trials[context.kernel] = std::move(trial);
  race.built[context.kernel] = std::move(built);
  if (--race.missing == 0) PublishRace(context.race);
}

void Dispatcher::AcceptRace(std::uint64_t id, const DeviceName& device, std::vector<Trial> trials) {
  const auto found = racing_.find(id);
  if (found == racing_.end()) return;
  Race& race = found->second;
  for (std::size_t i = 0; i < race.racers.size(); ++i) {
    race.trials[race.racers[i]] = std::move(trials[i]);
  }
  races_[id] = {device, std::move(race.trials)};
  racing_.erase(found);
}

std::optional<Dispatcher::RaceResult> Dispatcher::TakeRace(std::uint64_t race) {
  const auto found = races_.find(race);
  if (found == races_.end()) return std::nullopt;
  RaceResult result = std::move(found->second);
  races_.erase(found);
  return result;
}

}  // namespace tilewright::measure::fleet
