// Event simulation of a fleet that runs the product's own code: unchanged WorkerCore and
// Dispatcher, over a broker in memory, with a clock that jumps from one event to the next. A member
// is woken when it receives something, or at the time it requested.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "bench/fleet_bench.h"
#include "measure/fleet/memory_broker.h"
#include "src/base/random.h"
#include "src/base/strings.h"

namespace tilewright::measure::fleet {
namespace {

class JumpingClock final : public Clock {
 public:
  double MonotonicSeconds() override { return now; }
  double UnixSeconds() override { return now; }
  void SleepSeconds(double seconds) override { now += seconds; }
  double now = 1000;
};

/// Simulated devices send messages as rarely as the tuner tolerates without message loss, so that a
/// simulated night takes minutes.
constexpr double kHereSeconds = 5, kBeatSeconds = 2.5, kFetchSeconds = 30, kSaySeconds = 3;
// Maximum delay of a message. Leases last four seconds, and a member without messages for seven
// seconds is offline.
constexpr double kLookSeconds = 1;

class Simulation {
 public:
  explicit Simulation(const SimulationSettings& settings)
      : hub_(clock_),
        settings_(settings),
        members_(static_cast<std::size_t>(settings.devices)),
        due_(members_.size() + 1, kNever) {
    hub_.on_incoming = [this](Broker& broker) {
      const auto found = owners_.find(&broker);
      if (found != owners_.end()) Wake(found->second, clock_.now);
    };
  }

  SimulationResult Run() {
    const double seconds = settings_.hours * 3600, end = clock_.now + seconds;
    began_at_ = clock_.now;
    tuner_broker_ = hub_.Connect();
    DispatcherSettings job = BenchJob("sim", "night", 1);
    job.check_share = 0;
    job.publish_seconds = kSaySeconds;
    job.on_note = [this](const std::string& text) { Heard(text); };
    tuner_ = std::make_unique<Dispatcher>(job, *tuner_broker_, clock_);
    TW_CHECK(tuner_->Open().ok());
    owners_[tuner_broker_.get()] = Tuner();
    Wake(Tuner(), clock_.now);
    for (int i = 0; i < std::ssize(members_); ++i) Join(i);
    while (clock_.now < end && Next()) {
    }
    SimulationResult said;
    said.trials = done_;
    said.trials_per_second = static_cast<double>(done_) / seconds;
    // Time after a device's failure does not count as idle.
    for (const Member& member : members_) up_ += clock_.now - member.since;
    // A baseline takes as long as a trial here.
    said.baselines = tuner_->counts().baselines;
    const auto share = [&](std::int64_t count) {
      return static_cast<double>(count) * settings_.trial_seconds / up_;
    };
    said.baseline_share = share(said.baselines);
    said.idle_share = 1 - share(done_) - said.baseline_share;
    said.duplicate_trials = duplicates_;
    said.messages = hub_.said() + hub_.queued();
    said.leases_lost = tuner_->counts().lost;
    said.revised = tuner_->counts().revised;
    said.deaths = deaths_;
    said.drifted = drifted_;
    said.excluded_after = aside_after_;
    said.wrongly_excluded = wrongly_aside_;
    std::ranges::sort(said.excluded_after);
    for (int i = 0; i < std::ssize(members_); ++i) {
      const Member& member = members_[static_cast<std::size_t>(i)];
      const DeviceRegistry::Device* device =
          tuner_->device_registry().Find({"w" + std::to_string(i), "d0"});
      if (!member.slow || device == nullptr || !device->excluded.empty()) continue;
      ++said.unnoticed;
      said.unnoticed_seconds = std::max(said.unnoticed_seconds, clock_.now - member.slower_at);
    }
    // No order may remain open without a holder.
    ending_ = true;
    for (int i = 0; i < 200 * std::ssize(members_) && tuner_->in_flight() > 0 && Next(); ++i) {
    }
    said.lost_trials = tuner_->in_flight();
    return said;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Member {
    std::unique_ptr<Broker> broker;
    std::unique_ptr<FakeExecutor> bench;
    std::unique_ptr<WorkerCore> core;
    double since = 0, leaves_at = 0;
    double slower_at = kNever;  // then it drifts
    bool slow = false;
  };
  using Event = std::pair<double, int>;  // time, and member

  int Tuner() const { return static_cast<int>(members_.size()); }

  /// Later events of the member remain queued, and are skipped.
  void Wake(int who, double at) {
    double& due = due_[static_cast<std::size_t>(who)];
    if (due <= at) return;
    due = at;
    events_.push({at, who});
  }
  bool Next() {
    while (!events_.empty()) {
      const auto [at, who] = events_.top();
      events_.pop();
      double& due = due_[static_cast<std::size_t>(who)];
      if (due != at) continue;
      due = kNever;
      clock_.now = std::max(clock_.now, at);
      who == Tuner() ? Tune() : Work(who);
      return true;
    }
    return false;
  }

  /// Parses "device w17.d0 is set aside: …".
  void Heard(const std::string& text) {
    constexpr std::string_view kBegin = "device w";
    if (!text.starts_with(kBegin) || text.find("is set aside") == std::string::npos) return;
    const auto which = ParseInt64(text.substr(kBegin.size(), text.find('.') - kBegin.size()));
    TW_CHECK(which.ok(), text);
    const double slower_at = members_[static_cast<std::size_t>(*which)].slower_at;
    if (clock_.now < slower_at) {
      ++wrongly_aside_;
    } else {
      aside_after_.push_back(clock_.now - slower_at);
    }
  }

  void Join(int which) {
    Member& member = members_[static_cast<std::size_t>(which)];
    if (member.broker) owners_.erase(member.broker.get());
    member.core.reset();
    member.bench.reset();
    member.broker = hub_.Connect();
    owners_[member.broker.get()] = which;
    FakeExecutor::Settings made_up;
    made_up.seconds = settings_.trial_seconds;
    made_up.device = FakeExecutor::Device();
    made_up.probe = settings_.probes;
    made_up.slowness = [&member](double now) {
      constexpr double kSlower = 1.08;
      return now < member.slower_at ? 1 : kSlower;
    };
    member.bench = std::make_unique<FakeExecutor>(made_up, clock_);
    WorkerSettings settings;
    settings.name = {"w" + std::to_string(which), "d0"};
    settings.device_class = ClassOf(made_up.device);
    settings.announcement.instance = "i" + std::to_string(++instances_);
    settings.announcement.fingerprint = made_up.device.ToString();
    settings.announcement.target = "llvm";
    settings.announcement.builds = settings.announcement.measures = true;
    settings.announcement.measure_slots = 2;
    settings.announce_seconds = kHereSeconds;
    settings.heartbeat_seconds = kBeatSeconds;
    settings.fetch_seconds = kFetchSeconds;
    member.core = std::make_unique<WorkerCore>(settings, *member.bench, *member.broker, clock_);
    TW_CHECK(member.core->Open().ok());
    member.since = clock_.now;
    const double rate = settings_.churn_per_hour / 3600;
    member.leaves_at = rate > 0 ? clock_.now - std::log(1 - random_.Uniform()) / rate : kNever;
    // Each of the night's first devices may drift once.
    member.slower_at = kNever;
    member.slow = false;
    if (instances_ <= std::ssize(members_) && random_.Uniform() < settings_.drift_share) {
      member.slower_at = began_at_ + random_.Uniform() * settings_.hours * 3600;
    }
    Wake(which, clock_.now);
  }

  void Work(int which) {
    Member& member = members_[static_cast<std::size_t>(which)];
    if (clock_.now >= member.leaves_at) {
      // It fails without a message, and returns a minute later.
      ++deaths_;
      up_ += clock_.now - member.since;
      constexpr double kAwaySeconds = 60;
      owners_.erase(member.broker.get());
      member.core.reset();
      member.broker.reset();
      member.since = clock_.now + kAwaySeconds;
      member.leaves_at = kNever;
      return Wake(which, clock_.now + kAwaySeconds);
    }
    if (!member.core) return Join(which);
    if (!member.slow && clock_.now >= member.slower_at) {
      member.slow = true;
      ++drifted_;
    }
    member.core->Poll(0);
    Wake(which,
         std::min({member.bench->next_event(), clock_.now + kLookSeconds, member.leaves_at}));
  }

  void Tune() {
    tuner_->Poll(0);
    while (auto reply = tuner_->Take()) {
      if (reply->again) continue;
      const bool first = waiting_.erase(reply->ticket) > 0;
      first ? ++done_ : ++duplicates_;
      tuner_->MarkStored(reply->ticket);
    }
    const auto enough = static_cast<int>(3 * members_.size() + 8);
    while (!ending_ && tuner_->in_flight() < enough) {
      waiting_.insert(ticket_);
      TW_CHECK(tuner_->Submit(BenchRequest(ticket_++)).ok());
    }
    constexpr double kLook = 0.1;
    Wake(Tuner(), clock_.now + kLook);
  }

  JumpingClock clock_;
  InMemoryBroker hub_;
  const SimulationSettings settings_;
  Random random_{1};
  std::vector<Member> members_;
  std::unique_ptr<Broker> tuner_broker_;
  std::unique_ptr<Dispatcher> tuner_;
  std::unordered_map<Broker*, int> owners_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<double> due_;  // of each member, and last of the tuner
  std::unordered_set<std::uint64_t> waiting_;
  std::uint64_t ticket_ = 1;
  std::int64_t done_ = 0, duplicates_ = 0, deaths_ = 0, drifted_ = 0, wrongly_aside_ = 0;
  std::vector<double> aside_after_;
  double up_ = 0, began_at_ = 0;
  int instances_ = 0;
  bool ending_ = false;
};

}  // namespace

SimulationResult Simulate(const SimulationSettings& settings) { return Simulation(settings).Run(); }

}  // namespace tilewright::measure::fleet
