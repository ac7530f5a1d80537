// An event simulation of a fleet that runs the product's own code: WorkerCore and Dispatcher as
// they are, over a broker in memory, with a clock that jumps from one event to the next. Who has
// something to do is woken: by what has come for it, or at the moment it said.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "bench/fleet_bench.h"
#include "measure/fleet/memory_broker.h"
#include "src/base/random.h"

namespace tilewright::measure::fleet {
namespace {

class JumpingClock final : public Clock {
 public:
  double MonotonicSeconds() override { return now; }
  double UnixSeconds() override { return now; }
  void SleepSeconds(double seconds) override { now += seconds; }
  double now = 1000;
};

/// What a simulated device does is said seldom, so that a night takes minutes.
constexpr double kHereSeconds = 5, kBeatSeconds = 1.5, kFetchSeconds = 30;

class Simulation {
 public:
  Simulation(int devices, double trial_seconds, double churn_per_hour)
      : hub_(clock_), trial_seconds_(trial_seconds), churn_(churn_per_hour), members_(devices) {
    hub_.on_incoming = [this](Broker& broker) {
      const auto found = owners_.find(&broker);
      if (found != owners_.end()) Wake(found->second, clock_.now);
    };
  }

  Simulated Run(double seconds) {
    const double end = clock_.now + seconds;
    tuner_broker_ = hub_.Connect();
    DispatcherSettings settings = BenchJob("sim", "night", 1);
    settings.check_share = 0;
    settings.on_note = {};
    tuner_ = std::make_unique<Dispatcher>(settings, *tuner_broker_, clock_);
    TW_CHECK(tuner_->Open().ok());
    owners_[tuner_broker_.get()] = kTuner;
    Wake(kTuner, clock_.now);
    for (int i = 0; i < std::ssize(members_); ++i) Join(i);
    while (!events_.empty() && clock_.now < end) {
      const auto [at, who] = *events_.begin();
      events_.erase(events_.begin());
      due_.erase(who);
      clock_.now = std::max(clock_.now, at);
      who == kTuner ? Tune() : Work(who);
    }
    Simulated said;
    said.trials = done_;
    said.trials_per_second = static_cast<double>(done_) / seconds;
    // What a device that is gone could have done is nobody's idleness.
    for (const Member& member : members_) up_ += clock_.now - member.since;
    // A baseline takes as long as a trial here: a device that measures one is not idle.
    said.baselines = tuner_->counts().baselines;
    said.idle_share = 1 - static_cast<double>(done_ + said.baselines) * trial_seconds_ / up_;
    said.doubled_trials = doubled_;
    said.messages = hub_.said() + hub_.queued();
    said.leases_lost = tuner_->counts().lost;
    // Nothing may be open that nobody has.
    for (int i = 0; i < 200'000 && tuner_->in_flight() > 0 && !events_.empty(); ++i) {
      const auto [at, who] = *events_.begin();
      events_.erase(events_.begin());
      due_.erase(who);
      clock_.now = std::max(clock_.now, at);
      ending_ = true;
      who == kTuner ? Tune() : Work(who);
    }
    said.lost_trials = tuner_->in_flight();
    return said;
  }

 private:
  static constexpr int kTuner = -1;
  struct Member {
    std::unique_ptr<Broker> broker;
    std::unique_ptr<MadeUpBench> bench;
    std::unique_ptr<WorkerCore> core;
    double since = 0, leaves_at = 0;
  };

  void Wake(int who, double at) {
    const auto found = due_.find(who);
    if (found != due_.end()) {
      if (found->second <= at) return;
      events_.erase({found->second, who});
    }
    due_[who] = at;
    events_.insert({at, who});
  }

  void Join(int which) {
    Member& member = members_[static_cast<std::size_t>(which)];
    if (member.broker) owners_.erase(member.broker.get());
    member.core.reset();
    member.bench.reset();
    member.broker = hub_.Connect();
    owners_[member.broker.get()] = which;
    MadeUpBench::Settings made_up;
    made_up.seconds = trial_seconds_;
    made_up.device = MadeUpBench::Device();
    member.bench = std::make_unique<MadeUpBench>(made_up, clock_);
    WorkerSettings settings;
    settings.name = {"w" + std::to_string(which), "d0"};
    settings.device_class = ClassOf(made_up.device);
    settings.here.instance = "i" + std::to_string(++instances_);
    settings.here.fingerprint = made_up.device.ToString();
    settings.here.target = "llvm";
    settings.here.builds = settings.here.measures = true;
    settings.here.measure_slots = 2;
    settings.here_seconds = kHereSeconds;
    settings.beat_seconds = kBeatSeconds;
    settings.fetch_seconds = kFetchSeconds;
    member.core = std::make_unique<WorkerCore>(settings, *member.bench, *member.broker, clock_);
    TW_CHECK(member.core->Open().ok());
    member.since = clock_.now;
    const double rate = churn_ / 3600;
    member.leaves_at = rate > 0 ? clock_.now - std::log(1 - random_.Uniform()) / rate
                                : std::numeric_limits<double>::infinity();
    Wake(which, clock_.now);
  }

  void Work(int which) {
    Member& member = members_[static_cast<std::size_t>(which)];
    if (clock_.now >= member.leaves_at) {
      // It dies without a word, and comes back a minute later.
      up_ += clock_.now - member.since;
      constexpr double kAwaySeconds = 60;
      owners_.erase(member.broker.get());
      member.core.reset();
      member.broker.reset();
      member.since = clock_.now + kAwaySeconds;
      member.leaves_at = std::numeric_limits<double>::infinity();
      return Wake(which, clock_.now + kAwaySeconds);
    }
    if (!member.core) return Join(which);
    member.core->Poll(0);
    constexpr double kLook = 1.5;
    Wake(which, std::min({member.bench->next_event(), clock_.now + kLook, member.leaves_at}));
  }

  void Tune() {
    tuner_->Poll(0);
    while (auto reply = tuner_->Take()) {
      if (reply->again) continue;
      const bool first = waiting_.erase(reply->ticket) > 0;
      first ? ++done_ : ++doubled_;
      tuner_->Stored(reply->ticket);
    }
    const auto enough = static_cast<int>(3 * members_.size() + 8);
    while (!ending_ && tuner_->in_flight() < enough) {
      waiting_.insert(ticket_);
      TW_CHECK(tuner_->Submit(BenchRequest(ticket_++)).ok());
    }
    constexpr double kLook = 0.1;
    Wake(kTuner, clock_.now + kLook);
  }

  JumpingClock clock_;
  MemoryHub hub_;
  const double trial_seconds_, churn_;
  Random random_{1};
  std::vector<Member> members_;
  std::unique_ptr<Broker> tuner_broker_;
  std::unique_ptr<Dispatcher> tuner_;
  std::map<Broker*, int> owners_;
  std::set<std::pair<double, int>> events_;
  std::map<int, double> due_;
  std::set<std::uint64_t> waiting_;
  std::uint64_t ticket_ = 1;
  std::int64_t done_ = 0, doubled_ = 0;
  double up_ = 0;
  int instances_ = 0;
  bool ending_ = false;
};

}  // namespace

Simulated Simulate(int devices, double trial_seconds, double hours, double churn_per_hour) {
  Simulation simulation(devices, trial_seconds, churn_per_hour);
  return simulation.Run(hours * 3600);
}

}  // namespace tilewright::measure::fleet
