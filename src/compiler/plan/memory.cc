// Offsets in the arena. Live ranges are known exactly, because steps run in order, so this is the
// packing of intervals in two dimensions. Buffers are placed largest first, each at the lowest
// offset that is free during its live range.

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/base/math.h"
#include "src/compiler/plan/plan.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

struct LiveRange {
  int first = std::numeric_limits<int>::max();
  int last = -1;
  int root = -1;  // buffer whose memory it reuses, or itself
};

bool Overlap(const LiveRange& a, const LiveRange& b) {
  return a.first <= b.last && b.first <= a.last;
}

std::vector<LiveRange> LiveRangesOf(const Plan& plan) {
  std::vector<LiveRange> live_ranges(plan.buffers.size());
  for (std::size_t i = 0; i < live_ranges.size(); ++i) live_ranges[i].root = static_cast<int>(i);
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    for (int buffer : plan.steps[step].buffers) {
      LiveRange& life = live_ranges[static_cast<std::size_t>(buffer)];
      life.first = std::min(life.first, static_cast<int>(step));
      life.last = std::max(life.last, static_cast<int>(step));
    }
  }
  return live_ranges;
}

/// Merges the live ranges of a whole and its parts: from the first of them to the last.
void MergeLiveRangesOfParts(const Plan& plan, std::vector<LiveRange>& live_ranges) {
  std::vector<int> top(plan.buffers.size());
  for (std::size_t i = 0; i < top.size(); ++i) {
    int buffer = static_cast<int>(i);
    while (plan.buffers[static_cast<std::size_t>(buffer)].whole >= 0) {
      buffer = plan.buffers[static_cast<std::size_t>(buffer)].whole;
    }
    top[i] = buffer;
    LiveRange& all = live_ranges[static_cast<std::size_t>(buffer)];
    all.first = std::min(all.first, live_ranges[i].first);
    all.last = std::max(all.last, live_ranges[i].last);
  }
  for (std::size_t i = 0; i < top.size(); ++i) {
    const LiveRange& all = live_ranges[static_cast<std::size_t>(top[i])];
    live_ranges[i].first = all.first;
    live_ranges[i].last = all.last;
  }
}

std::int64_t OffsetOf(const Plan& plan, const std::vector<LiveRange>& live_ranges, int buffer) {
  const PlanBuffer& own = plan.buffers[static_cast<std::size_t>(buffer)];
  if (own.whole >= 0) return OffsetOf(plan, live_ranges, own.whole) + own.begin;
  const int root = live_ranges[static_cast<std::size_t>(buffer)].root;
  return plan.buffers[static_cast<std::size_t>(root)].offset;
}

/// Returns the buffer whose memory holds this one; for a part the outermost whole's.
int RootOf(const Plan& plan, const std::vector<LiveRange>& live_ranges, int buffer) {
  while (plan.buffers[static_cast<std::size_t>(buffer)].whole >= 0) {
    buffer = plan.buffers[static_cast<std::size_t>(buffer)].whole;
  }
  return live_ranges[static_cast<std::size_t>(buffer)].root;
}

/// Returns true if the step also reads `operand`'s memory through another buffer: a part of it,
/// its whole, or another part of that. Such a buffer may be read at any position.
bool IsReadOtherwise(const Plan& plan, const std::vector<LiveRange>& live_ranges,
                     const PlanStep& step, int operand) {
  const int root = RootOf(plan, live_ranges, operand);
  return std::any_of(step.buffers.begin(), step.buffers.end() - 1, [&](int other) {
    return other != operand &&
           plan.buffers[static_cast<std::size_t>(other)].space == BufferSpace::kArena &&
           RootOf(plan, live_ranges, other) == root;
  });
}

/// Lets results reuse the memory of operands whose last use is the same step. Not in kernels of
/// source text: their pointers are restrict, so no two of them may lead to one tensor.
void ReuseInPlace(const Plan& plan, std::vector<LiveRange>& live_ranges) {
  if (DeviceTraitsOf(plan.target).grids_are_source) return;
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    const PlanStep& s = plan.steps[step];
    const int result = s.buffers.back();
    const PlanBuffer& made = plan.buffers[static_cast<std::size_t>(result)];
    if (made.space != BufferSpace::kArena || made.whole >= 0) continue;
    for (int operand : s.may_overwrite) {
      const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(operand)];
      const LiveRange& life = live_ranges[static_cast<std::size_t>(operand)];
      const int root = life.root;
      const bool dies = live_ranges[static_cast<std::size_t>(root)].last == static_cast<int>(step);
      if (buffer.space != BufferSpace::kArena || buffer.whole >= 0 || !dies ||
          buffer.bytes != made.bytes || IsReadOtherwise(plan, live_ranges, s, operand)) {
        continue;
      }
      LiveRange& taken = live_ranges[static_cast<std::size_t>(root)];
      taken.last = std::max(taken.last, live_ranges[static_cast<std::size_t>(result)].last);
      live_ranges[static_cast<std::size_t>(result)].root = root;
      break;
    }
  }
}

std::int64_t PlaceArena(Plan& plan, const std::vector<LiveRange>& live_ranges) {
  const std::int64_t alignment = AlignmentOf(plan.target);
  std::vector<int> order;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const bool placed = plan.buffers[i].space == BufferSpace::kArena && live_ranges[i].last >= 0 &&
                        plan.buffers[i].whole < 0 && live_ranges[i].root == static_cast<int>(i);
    if (placed) order.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(order, [&](int a, int b) {
    return plan.buffers[static_cast<std::size_t>(a)].bytes >
           plan.buffers[static_cast<std::size_t>(b)].bytes;
  });
  std::int64_t total = 0;
  std::vector<int> done;  // by offset
  for (int id : order) {
    PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(id)];
    std::int64_t offset = 0;
    for (int other : done) {
      const PlanBuffer& neighbour = plan.buffers[static_cast<std::size_t>(other)];
      if (!Overlap(live_ranges[static_cast<std::size_t>(id)],
                   live_ranges[static_cast<std::size_t>(other)])) {
        continue;
      }
      if (offset + buffer.bytes <= neighbour.offset) break;
      offset = std::max(offset, RoundUp(neighbour.offset + neighbour.bytes, alignment));
    }
    buffer.offset = offset;
    total = std::max(total, offset + buffer.bytes);
    const auto place = std::ranges::upper_bound(done, offset, {}, [&](int other) {
      return plan.buffers[static_cast<std::size_t>(other)].offset;
    });
    done.insert(place, id);
  }
  return total;
}

}  // namespace

std::int64_t AlignmentOf(const Target& target) {
  constexpr std::int64_t kPartAlignment = 512;
  return DeviceTraitsOf(target).grids_are_source ? kPartAlignment : kTensorAlignment;
}

void PlanMemory(Plan& plan) {
  std::vector<LiveRange> live_ranges = LiveRangesOf(plan);
  MergeLiveRangesOfParts(plan, live_ranges);
  ReuseInPlace(plan, live_ranges);
  plan.arena_bytes = RoundUp(PlaceArena(plan, live_ranges), AlignmentOf(plan.target));
  std::vector<std::int64_t> offsets;
  plan.constant_bytes = 0;
  for (const Tensor& constant : plan.constants) {
    offsets.push_back(plan.constant_bytes);
    plan.constant_bytes = RoundUp(plan.constant_bytes + constant.bytes(), kTensorAlignment);
  }
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    PlanBuffer& buffer = plan.buffers[i];
    if (buffer.space == BufferSpace::kConstant) {
      buffer.offset = offsets[static_cast<std::size_t>(buffer.index)];
    } else if (buffer.space == BufferSpace::kArena) {
      buffer.offset = OffsetOf(plan, live_ranges, static_cast<int>(i));
    }
  }
}

}  // namespace tilewright
