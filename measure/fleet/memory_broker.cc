// Broker within the process: queues, subjects and objects in memory, time from an injected clock.
// Tests and the fleet simulation run the code of tuners and workers on it.
#include "measure/fleet/memory_broker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "src/base/strings.h"

namespace tilewright::measure::fleet {

bool Matches(std::string_view pattern, std::string_view subject) {
  while (true) {
    const std::size_t end = pattern.find('.'), other = subject.find('.');
    const std::string_view word = pattern.substr(0, end);
    if (word == ">") return !subject.empty();
    if (word != "*" && word != subject.substr(0, other)) return false;
    const bool last = end == std::string_view::npos, other_last = other == std::string_view::npos;
    if (last || other_last) return last && other_last;
    pattern.remove_prefix(end + 1);
    subject.remove_prefix(other + 1);
  }
}

class InMemoryBroker::Member final : public Broker {
 public:
  explicit Member(InMemoryBroker& hub) : hub_(hub), number_(hub.next_++) {
    hub_.members_[number_] = this;
  }
  ~Member() override {
    hub_.members_.erase(number_);
    for (auto& [subject, route] : hub_.routes_) std::erase(route, number_);
    for (auto& [queue, held] : hub_.queues_) {
      std::erase_if(held.fetches, [this](const PendingFetch& ask) { return ask.member == this; });
    }
  }

  Status Subscribe(const std::string& pattern) override {
    patterns_.insert(pattern);
    for (auto& [subject, route] : hub_.routes_) {
      const auto place = std::ranges::lower_bound(route, number_);
      const bool there = place != route.end() && *place == number_;
      if (!there && Matches(pattern, subject)) route.insert(place, number_);
    }
    return {};
  }
  Status Unsubscribe(const std::string& pattern) override {
    patterns_.erase(pattern);
    hub_.routes_.clear();
    return {};
  }
  Status Publish(const std::string& subject, std::string_view payload) override {
    if (hub_.away) return {};
    hub_.Publish(subject, std::string(payload));
    return {};
  }
  Status OpenQueue(const Queue& queue) override {
    hub_.queues_[queue].queue = queue;
    return {};
  }
  void CloseQueue(const Queue& queue) override { hub_.queues_.erase(queue); }
  Status Enqueue(const Queue& queue, std::string_view payload) override {
    const auto found = hub_.queues_.find(queue);
    if (found == hub_.queues_.end() || hub_.away) return {};  // lost, as with the real broker
    const int copies = hub_.copies ? hub_.copies(queue.subject) : 1;
    for (int i = 0; i < copies; ++i) {
      const std::uint64_t number = hub_.next_++;
      found->second.messages[number].payload = payload;
      found->second.waiting.insert(number);
      ++hub_.queued_;
    }
    hub_.HandOut(found->second);
    return {};
  }
  Status Fetch(const Queue& queue, int count, double seconds) override {
    const auto found = hub_.queues_.find(queue);
    if (found == hub_.queues_.end()) {
      Over(queue);
      return {};
    }
    const double now = hub_.clock_.MonotonicSeconds();
    QueueState& held = found->second;
    held.fetches.push_back({this, count, now + seconds});
    hub_.HandOut(held);
    if (seconds > 0) {
      hub_.advance_at_ = std::min(hub_.advance_at_, now + seconds);
    } else if (!held.fetches.empty() && held.fetches.back().member == this &&
               held.fetches.back().until <= now) {
      held.fetches.pop_back();  // the others end at their own deadline
      Over(queue);
    }
    return {};
  }
  void Acknowledge(const std::string& handle, AckType verdict) override {
    const auto words = Split(handle, '/');
    if (words.size() != 3) return;
    for (auto& [queue, held] : hub_.queues_) {
      if (queue.stream != words[0] || queue.consumer != words[1]) continue;
      const auto number = ParseInt64(words[2]);
      if (!number.ok()) return;
      const auto id = static_cast<std::uint64_t>(*number);
      const auto found = held.messages.find(id);
      if (found == held.messages.end()) return;
      if (verdict == AckType::kAck) {
        held.messages.erase(found);
        held.waiting.erase(id);
        held.out.erase(id);
      } else if (verdict == AckType::kInProgress) {
        found->second.free_at = hub_.clock_.MonotonicSeconds() + kLeaseSeconds;
      } else {
        held.waiting.insert(id);
        held.out.erase(id);
        hub_.HandOut(held);
      }
      return;
    }
  }
  void Count(const Queue& queue) override {
    if (hub_.away) return;
    BrokerEvent counted;
    counted.kind = BrokerEvent::Kind::kQueueInfo;
    counted.queue = queue;
    const auto found = hub_.queues_.find(queue);
    counted.out = -1;
    if (found != hub_.queues_.end()) {
      counted.waiting = std::ssize(found->second.waiting);
      counted.out = std::ssize(found->second.messages) - counted.waiting;
    }
    PublishResult(std::move(counted));
  }
  Status PutObject(const std::string& name, std::string_view bytes) override {
    hub_.objects_.emplace(name, bytes);
    return {};
  }
  Status GetObject(const std::string& name) override {
    BrokerEvent object;
    object.kind = BrokerEvent::Kind::kObject;
    object.subject = name;
    const auto found = hub_.objects_.find(name);
    if (found != hub_.objects_.end()) object.payload = found->second;
    PublishResult(std::move(object));
    return {};
  }
  std::optional<BrokerEvent> Next(double /*seconds*/) override {
    if (incoming_.empty()) hub_.Advance();
    if (incoming_.empty()) return std::nullopt;
    BrokerEvent first = std::move(incoming_.front());
    incoming_.pop_front();
    return first;
  }
  void Wake() override {}
  bool IsOf(const std::string& handle, const Queue& queue) const override {
    return handle.starts_with(queue.stream + "/" + queue.consumer + "/");
  }
  bool connected() const override { return !hub_.away; }
  std::int64_t connections() const override { return 1 + hub_.losses_; }
  Status Flush(double /*seconds*/) override { return {}; }

  void PublishResult(BrokerEvent incoming) {
    incoming_.push_back(std::move(incoming));
    if (hub_.on_incoming) hub_.on_incoming(*this);
  }
  void Over(const Queue& queue) {
    BrokerEvent over;
    over.kind = BrokerEvent::Kind::kFetchDone;
    over.queue = queue;
    PublishResult(std::move(over));
  }
  bool Hears(std::string_view subject) const {
    return std::ranges::any_of(patterns_,
                               [&](const std::string& one) { return Matches(one, subject); });
  }

 private:
  InMemoryBroker& hub_;
  const std::uint64_t number_;
  std::set<std::string> patterns_;
  std::deque<BrokerEvent> incoming_;
};

std::unique_ptr<Broker> InMemoryBroker::Connect() { return std::make_unique<Member>(*this); }

const std::vector<std::uint64_t>& InMemoryBroker::RouteOf(const std::string& subject) {
  const auto [found, added] = routes_.try_emplace(subject);
  if (!added) return found->second;
  for (const auto& [number, member] : members_) {
    if (member->Hears(subject)) found->second.push_back(number);
  }
  return found->second;
}

void InMemoryBroker::Publish(const std::string& subject, const std::string& payload) {
  ++published_;
  const int times = copies ? copies(subject) : 1;
  for (int i = 0; i < times; ++i) {
    for (const std::uint64_t number : std::vector<std::uint64_t>(RouteOf(subject))) {
      BrokerEvent said;
      said.subject = subject;
      said.payload = payload;
      members_.at(number)->PublishResult(std::move(said));
    }
  }
}

void InMemoryBroker::HandOut(QueueState& held) {
  const double now = clock_.MonotonicSeconds();
  while (!held.waiting.empty() && !held.fetches.empty()) {
    PendingFetch& ask = held.fetches.front();
    const std::uint64_t number = *held.waiting.begin();
    held.waiting.erase(held.waiting.begin());
    held.out.insert(number);
    Message& message = held.messages.at(number);
    message.free_at = now + Broker::kLeaseSeconds;
    advance_at_ = std::min(advance_at_, message.free_at);
    BrokerEvent delivered;
    delivered.kind = BrokerEvent::Kind::kDelivered;
    delivered.queue = held.queue;
    delivered.subject = held.queue.subject;
    delivered.payload = message.payload;
    delivered.deliveries = ++message.deliveries;
    delivered.handle = held.queue.stream + "/" + held.queue.consumer + "/" + std::to_string(number);
    Member* member = ask.member;
    if (--ask.left == 0) held.fetches.pop_front();
    member->PublishResult(std::move(delivered));
  }
}

void InMemoryBroker::Advance() {
  const double now = clock_.MonotonicSeconds();
  if (now < advance_at_) return;
  advance_at_ = std::numeric_limits<double>::infinity();
  for (auto& [queue, held] : queues_) {
    std::erase_if(held.out, [&](std::uint64_t number) {
      if (held.messages.at(number).free_at > now) return false;
      held.waiting.insert(number);
      return true;
    });
    HandOut(held);
    std::vector<Member*> over;
    std::erase_if(held.fetches, [&](const PendingFetch& ask) {
      if (ask.until > now) return false;
      over.push_back(ask.member);
      return true;
    });
    for (Member* member : over) member->Over(queue);
  }
  advance_at_ = std::min(advance_at_, NextDeadline());
}

double InMemoryBroker::NextDeadline() const {
  double next = std::numeric_limits<double>::infinity();
  for (const auto& [queue, held] : queues_) {
    for (const PendingFetch& ask : held.fetches) next = std::min(next, ask.until);
    for (const std::uint64_t number : held.out) {
      next = std::min(next, held.messages.at(number).free_at);
    }
  }
  return next;
}

void InMemoryBroker::DropAllState() {
  queues_.clear();
  objects_.clear();
  ++losses_;
}

}  // namespace tilewright::measure::fleet
