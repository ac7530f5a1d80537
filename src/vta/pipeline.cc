// Simulates the dependence tokens of a stream: waits between engines, deadlocks, and remaining
// tokens.

#include "src/vta/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tilewright::vta {
namespace {

constexpr auto kNoQueue = static_cast<Queue>(kQueueCount);

/// Queues of an engine, by direction.
struct Ports {
  Queue pop_prev, pop_next, push_prev, push_next;
};

constexpr Ports kPorts[kEngineCount] = {
    {kNoQueue, Queue::kComputeToLoad, kNoQueue, Queue::kLoadToCompute},
    {Queue::kLoadToCompute, Queue::kStoreToCompute, Queue::kComputeToLoad, Queue::kComputeToStore},
    {Queue::kComputeToStore, kNoQueue, Queue::kStoreToCompute, kNoQueue},
};

constexpr Engine kProducer[kQueueCount] = {Engine::kLoad, Engine::kCompute, Engine::kCompute,
                                           Engine::kStore};

constexpr std::size_t EngineIndex(Queue queue) { return static_cast<std::size_t>(queue); }
bool Pushes(const Instruction& instruction, Queue queue) {
  const Ports& ports = kPorts[EngineIndex(instruction.engine())];
  return (instruction.tokens.push_prev && ports.push_prev == queue) ||
         (instruction.tokens.push_next && ports.push_next == queue);
}

std::optional<Fault> CheckTransfer(const Design& design, const Instruction& instruction,
                                   const Transfer& t, std::int64_t place) {
  if (t.x_size == 0) return std::nullopt;
  const auto fault = [&](FaultKind kind, const std::string& reason) {
    return Fault{kind, place, Describe(place, instruction) + ": " + reason};
  };
  if (t.y_size == 0) {
    return fault(FaultKind::kBadInstruction,
                 "no rows of some elements: hardware counts down from y_size - 1; set x_size to 0 "
                 "to move nothing");
  }
  if (t.is_store && t.SramElements() != t.DramElements()) {
    return fault(FaultKind::kBadInstruction, "a store takes no padding");
  }
  const std::int64_t depth =
      t.memory == Memory::kUop ? design.UsableUops() : design.Depth(t.memory);
  if (t.sram_base + t.SramElements() > depth) {
    return fault(FaultKind::kBufferOverrun,
                 fmt::format("reaches element {} of {}, expected at most {}",
                             t.sram_base + t.SramElements() - 1, MemoryName(t.memory), depth - 1));
  }
  return std::nullopt;
}

std::optional<Fault> CheckLoop(const Design& design, const Instruction& instruction,
                               const UopLoop& loop, std::int64_t place) {
  if (loop.uop_begin <= loop.uop_end && loop.uop_end <= design.UsableUops()) return std::nullopt;
  const bool backwards = loop.uop_begin > loop.uop_end;
  return Fault{
      backwards ? FaultKind::kBadInstruction : FaultKind::kBufferOverrun, place,
      Describe(place, instruction) +
          (backwards ? ": its micro-ops end before they begin"
                     : fmt::format(": reaches micro-op {}, expected at most {}",
                                   std::int64_t{loop.uop_end} - 1, design.UsableUops() - 1))};
}

/// Simulation of one stream; the queues contain the instructions that pushed the tokens.
class Player {
 public:
  Player(std::span<const Instruction> instructions, Pipeline& pipeline)
      : instructions_(instructions), pipeline_(pipeline) {
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      work_[EngineIndex(instructions[i].engine())].push_back(static_cast<std::int32_t>(i));
    }
    done_before_.resize(instructions.size());
    pipeline_.order.reserve(instructions.size());
  }

  std::optional<Fault> Play() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::size_t e = 0; e < kEngineCount; ++e) {
        while (next_[e] < work_[e].size() && TryIssue(static_cast<Engine>(e))) progress = true;
      }
    }
    for (std::size_t q = 0; q < kQueueCount; ++q) pipeline_.tokens_left[q] = Available(q);
    if (pipeline_.order.size() < instructions_.size()) return Blocked();
    return CheckFinish();
  }

 private:
  std::int64_t Available(std::size_t queue) const {
    return static_cast<std::int64_t>(tokens_[queue].size() - taken_[queue]);
  }

  bool Missing(Queue queue) const { return Available(EngineIndex(queue)) == 0; }

  /// Returns the queue for whose token the next instruction of `engine` waits, or kNoQueue.
  Queue WaitsFor(Engine engine) const {
    const Tokens& tokens = Head(engine).tokens;
    const Ports& ports = kPorts[EngineIndex(engine)];
    if (tokens.pop_prev && Missing(ports.pop_prev)) return ports.pop_prev;
    if (tokens.pop_next && Missing(ports.pop_next)) return ports.pop_next;
    return kNoQueue;
  }

  std::int32_t HeadPlace(Engine engine) const {
    return work_[EngineIndex(engine)][next_[EngineIndex(engine)]];
  }
  const Instruction& Head(Engine engine) const {
    return instructions_[static_cast<std::size_t>(HeadPlace(engine))];
  }

  std::int32_t Take(Queue queue, std::array<std::int32_t, kEngineCount>& done) {
    const std::int32_t producer = tokens_[EngineIndex(queue)][taken_[EngineIndex(queue)]++];
    const auto& before = done_before_[static_cast<std::size_t>(producer)];
    for (std::size_t e = 0; e < kEngineCount; ++e) done[e] = std::max(done[e], before[e]);
    std::int32_t& own = done[EngineIndex(kProducer[EngineIndex(queue)])];
    own = std::max(own, producer);
    return producer;
  }

  bool TryIssue(Engine engine) {
    if (WaitsFor(engine) != kNoQueue) return false;
    const std::int32_t place = HeadPlace(engine);
    const Tokens& tokens = Head(engine).tokens;
    const Ports& ports = kPorts[EngineIndex(engine)];
    Issue issue{.instruction = place, .engine = engine, .done = done_[EngineIndex(engine)]};
    if (tokens.pop_prev) issue.prev_producer = Take(ports.pop_prev, issue.done);
    if (tokens.pop_next) issue.next_producer = Take(ports.pop_next, issue.done);
    done_before_[static_cast<std::size_t>(place)] = issue.done;
    done_[EngineIndex(engine)] = issue.done;
    done_[EngineIndex(engine)][EngineIndex(engine)] = place;
    if (tokens.push_prev) tokens_[EngineIndex(ports.push_prev)].push_back(place);
    if (tokens.push_next) tokens_[EngineIndex(ports.push_next)].push_back(place);
    ++next_[EngineIndex(engine)];
    pipeline_.order.push_back(issue);
    return true;
  }

  /// Describes the blocked engines and the reasons.
  Fault Blocked() const {
    std::string all;
    std::optional<Fault> underflow;
    std::int64_t first = -1;
    for (std::size_t e = 0; e < kEngineCount; ++e) {
      const auto engine = static_cast<Engine>(e);
      all += all.empty() ? "" : "; ";
      if (next_[e] == work_[e].size()) {
        all += fmt::format("{} has nothing left to do", EngineName(engine));
        continue;
      }
      const Queue queue = WaitsFor(engine);
      const std::int64_t place = HeadPlace(engine);
      if (first < 0) first = place;
      all += fmt::format("{} waits at {} for a token {}", EngineName(engine),
                         Describe(place, Head(engine)), QueueName(queue));
      if (!underflow && !WillBePushed(queue)) {
        underflow = Fault{FaultKind::kTokenUnderflow, place,
                          fmt::format("{} waits for token {} of {}, but the stream pushes only {}",
                                      Describe(place, Head(engine)), taken_[EngineIndex(queue)] + 1,
                                      QueueName(queue), tokens_[EngineIndex(queue)].size())};
      }
    }
    if (underflow)
      return {underflow->kind, underflow->instruction, underflow->message + ": " + all};
    return {FaultKind::kDeadlock, first, all};
  }

  bool WillBePushed(Queue queue) const {
    const std::size_t e = EngineIndex(kProducer[EngineIndex(queue)]);
    return std::any_of(work_[e].begin() + static_cast<std::ptrdiff_t>(next_[e]), work_[e].end(),
                       [&](std::int32_t place) {
                         return Pushes(instructions_[static_cast<std::size_t>(place)], queue);
                       });
  }

  /// Checks that FINISH is last in the compute engine and is ordered after all transfers of the
  /// other engines.
  std::optional<Fault> CheckFinish() const {
    const auto finish = static_cast<std::int64_t>(instructions_.size()) - 1;
    const auto& done = done_before_.back();
    for (const Engine engine : {Engine::kLoad, Engine::kStore}) {
      const auto& work = work_[EngineIndex(engine)];
      const auto last = std::find_if(work.rbegin(), work.rend(), [&](std::int32_t place) {
        return !instructions_[static_cast<std::size_t>(place)].IsIdle();
      });
      if (last == work.rend() || done[EngineIndex(engine)] >= *last) continue;
      return Fault{FaultKind::kBadFinish, finish,
                   fmt::format("{} does not wait for {}: expected a token {} on the way",
                               Describe(finish, instructions_.back()),
                               Describe(*last, instructions_[static_cast<std::size_t>(*last)]),
                               QueueName(engine == Engine::kLoad ? Queue::kLoadToCompute
                                                                 : Queue::kStoreToCompute))};
    }
    return std::nullopt;
  }

  std::span<const Instruction> instructions_;
  Pipeline& pipeline_;
  std::array<std::vector<std::int32_t>, kEngineCount> work_;
  std::array<std::size_t, kEngineCount> next_ = {};
  std::array<std::vector<std::int32_t>, kQueueCount> tokens_;
  std::array<std::size_t, kQueueCount> taken_ = {};
  // Per engine: instructions finished when its next instruction starts, without the tokens that it
  // pops.
  std::array<std::array<std::int32_t, kEngineCount>, kEngineCount> done_ = {
      {{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}}};
  std::vector<std::array<std::int32_t, kEngineCount>> done_before_;
};

}  // namespace

std::string Describe(std::int64_t place, const Instruction& instruction) {
  return fmt::format("instruction {} ({})", place, ToString(instruction));
}

std::optional<Fault> CheckInstruction(const Design& design, const Instruction& instruction,
                                      std::int64_t place) {
  const Engine engine = instruction.engine();
  const Tokens& tokens = instruction.tokens;
  const Ports& ports = kPorts[EngineIndex(engine)];
  const bool bad_prev = ports.pop_prev == kNoQueue && (tokens.pop_prev || tokens.push_prev);
  const bool bad_next = ports.pop_next == kNoQueue && (tokens.pop_next || tokens.push_next);
  if (bad_prev || bad_next) {
    return Fault{FaultKind::kBadToken, place,
                 fmt::format("{}: the {} engine has no {} neighbour to pass tokens to",
                             Describe(place, instruction), EngineName(engine),
                             bad_prev ? "previous" : "next")};
  }
  if (const auto* transfer = std::get_if<Transfer>(&instruction.operation)) {
    return CheckTransfer(design, instruction, *transfer, place);
  }
  if (const auto* gemm = std::get_if<Gemm>(&instruction.operation)) {
    return CheckLoop(design, instruction, gemm->loop, place);
  }
  if (const auto* alu = std::get_if<Alu>(&instruction.operation)) {
    return CheckLoop(design, instruction, alu->loop, place);
  }
  if (tokens.pop_prev || tokens.pop_next) {
    return Fault{FaultKind::kBadFinish, place,
                 Describe(place, instruction) +
                     ": must not wait for a token; put an idle instruction in front"};
  }
  return std::nullopt;
}

std::optional<Fault> ResolveTokens(std::span<const Instruction> instructions, Pipeline& pipeline) {
  const auto last = static_cast<std::int64_t>(instructions.size()) - 1;
  for (std::int64_t i = 0; i <= last; ++i) {
    const Instruction& instruction = instructions[static_cast<std::size_t>(i)];
    if (i < last && std::holds_alternative<Finish>(instruction.operation)) {
      return Fault{FaultKind::kBadFinish, i,
                   fmt::format("{} is followed by {} more instructions", Describe(i, instruction),
                               last - i)};
    }
  }
  if (instructions.empty() || !std::holds_alternative<Finish>(instructions.back().operation)) {
    return Fault{
        FaultKind::kBadFinish, std::max<std::int64_t>(last, 0),
        fmt::format("a stream of {} instructions has no finish at its end", instructions.size())};
  }
  return Player(instructions, pipeline).Play();
}

}  // namespace tilewright::vta
