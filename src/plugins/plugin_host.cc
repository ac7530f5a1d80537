// Functions that a plugin's template calls. Most forward to ConfigSpace, Config and Schedule, which
// check their arguments and keep the first error. This file checks only what the C interface adds:
// null pointers, negative counts, and integers outside an enumeration.

#include "src/plugins/plugin_host.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/base/printable.h"

// A separate namespace, because names such as Split have other meanings in namespace plugins.
namespace tilewright::plugins::plugin_host {
namespace {

constexpr std::int32_t kMaxValues = 1 << 16;  // of a knob; larger spaces cannot be searched

std::string TextOf(const char* text) { return text == nullptr ? "" : Printable(text); }

// ---- Spaces

void AddKnob(tw_space* space, Result<Knob> knob) {
  if (!space->status.ok()) return;
  space->status = knob.ok() ? space->space.Add(*std::move(knob)) : knob.status();
}

/// Returns a knob of listed values. Errors: kInvalidArgument for no values, too many, or equal
/// ones.
Result<Knob> Listed(const char* name, KnobKind kind, std::vector<KnobValue> values) {
  if (values.empty()) return InvalidArgument("knob '" + TextOf(name) + "': no values");
  std::set<std::string> seen;
  for (const KnobValue& value : values) {
    if (!seen.insert(value.ToString()).second) {
      return InvalidArgument("knob '" + TextOf(name) + "': the value " + value.ToString() +
                             " twice");
    }
  }
  return Knob::Candidates(TextOf(name), kind, std::move(values));
}

bool HasValues(tw_space* space, const char* name, const void* values, std::int32_t count) {
  if (values != nullptr && count >= 1 && count <= kMaxValues) return true;
  AddKnob(space, InvalidArgument("knob '" + TextOf(name) + "': " + std::to_string(count) +
                                 " values, expected 1 to " + std::to_string(kMaxValues)));
  return false;
}

void KnobSplit(tw_space* space, const char* name, std::int64_t extent, std::int32_t parts,
               std::int64_t max_factor) {
  Knob::SplitOptions options;
  if (max_factor > 0) options.max_factor = max_factor;
  AddKnob(space, Knob::Split(TextOf(name), extent, parts, options));
}

void KnobInteger(tw_space* space, const char* name, const std::int64_t* values,
                 std::int32_t count) {
  if (!HasValues(space, name, values, count)) return;
  std::vector<KnobValue> list;
  for (std::int32_t i = 0; i < count; ++i) list.push_back({values[i]});
  AddKnob(space, Listed(name, KnobKind::kOther, std::move(list)));
}

std::vector<KnobValue> Rows(const std::int64_t* values, std::int32_t length, std::int32_t count) {
  std::vector<KnobValue> rows;
  for (std::int32_t i = 0; i < count; ++i, values += length) {
    rows.push_back({std::vector<std::int64_t>(values, values + length)});
  }
  return rows;
}

void KnobFactors(tw_space* space, const char* name, const std::int64_t* factors, std::int32_t parts,
                 std::int32_t count) {
  if (!HasValues(space, name, factors, count)) return;
  if (parts < 1 || parts > Knob::kMaxParts ||
      std::any_of(factors, factors + std::ptrdiff_t{parts} * count,
                  [](std::int64_t f) { return f < 1; })) {
    return AddKnob(space, InvalidArgument("knob '" + TextOf(name) + "': expected 1 to " +
                                          std::to_string(Knob::kMaxParts) + " factors above 0"));
  }
  AddKnob(space, Listed(name, KnobKind::kSplit, Rows(factors, parts, count)));
}

void KnobOrder(tw_space* space, const char* name, const std::int64_t* orders, std::int32_t length,
               std::int32_t count) {
  constexpr std::int32_t kMaxLoops = 16;
  if (!HasValues(space, name, orders, count)) return;
  if (length < 1 || length > kMaxLoops) {
    return AddKnob(
        space, InvalidArgument("knob '" + TextOf(name) + "': orders of " + std::to_string(length) +
                               " loops, expected 1 to " + std::to_string(kMaxLoops)));
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(length));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int64_t* order = orders + std::ptrdiff_t{length} * i;
    if (!std::is_permutation(all.begin(), all.end(), order)) {
      return AddKnob(space, InvalidArgument("knob '" + TextOf(name) + "': order " +
                                            std::to_string(i) + " is not a permutation"));
    }
  }
  AddKnob(space, Listed(name, KnobKind::kReorder, Rows(orders, length, count)));
}

void KnobWord(tw_space* space, const char* name, const char* const* words, std::int32_t count) {
  if (!HasValues(space, name, words, count)) return;
  std::vector<KnobValue> list;
  for (std::int32_t i = 0; i < count; ++i) list.push_back({TextOf(words[i])});
  AddKnob(space, Listed(name, KnobKind::kOther, std::move(list)));
}

// ---- Configs

/// Returns the value of a knob as a T; null after an error.
template <typename T>
const T* ValueOf(tw_config* config, const char* name, const char* expected) {
  const KnobValue* value = config->config.Find(TextOf(name));
  const T* found = value == nullptr ? nullptr : std::get_if<T>(&value->value);
  if (found == nullptr && config->status.ok()) {
    config->status = InvalidArgument("no knob '" + TextOf(name) + "' whose values are " + expected);
  }
  return found;
}

std::int64_t Integer(tw_config* config, const char* name) {
  const auto* value = ValueOf<std::int64_t>(config, name, "integers");
  return value == nullptr ? 1 : *value;
}

std::int64_t Item(tw_config* config, const char* name, std::int32_t i) {
  const auto* list = ValueOf<std::vector<std::int64_t>>(config, name, "splits or orders");
  if (list == nullptr) return 1;
  if (i >= 0 && i < std::ssize(*list)) return (*list)[static_cast<std::size_t>(i)];
  if (config->status.ok()) {
    config->status =
        InvalidArgument("knob '" + TextOf(name) + "' has no item " + std::to_string(i));
  }
  return 1;
}

const char* Word(tw_config* config, const char* name) {
  const auto* word = ValueOf<std::string>(config, name, "words");
  return word == nullptr ? "" : word->c_str();
}

// ---- Queries of a schedule

const Schedule::StageInfo* InfoOf(tw_schedule* s, tw_stage stage) {
  const auto& stages = s->schedule.stages();
  return stage >= 0 && stage < std::ssize(stages) ? &stages[static_cast<std::size_t>(stage)]
                                                  : nullptr;
}

tw_stage Stage(tw_schedule* s, const char* name) {
  const std::string text = TextOf(name);
  return s->schedule.HasStage(text) ? s->schedule.Stage(text).index : TW_PLUGIN_NONE;
}

std::int32_t SpatialCount(tw_schedule* s, tw_stage stage) {
  const auto* info = InfoOf(s, stage);
  return info == nullptr ? TW_PLUGIN_NONE : static_cast<std::int32_t>(info->op.axes.size());
}

std::int32_t ReductionCount(tw_schedule* s, tw_stage stage) {
  const auto* info = InfoOf(s, stage);
  return info == nullptr ? TW_PLUGIN_NONE : static_cast<std::int32_t>(info->op.reduce_axes.size());
}

tw_loop Spatial(tw_schedule* s, tw_stage stage, std::int32_t axis) {
  const bool known = axis >= 0 && axis < SpatialCount(s, stage);
  return known ? InfoOf(s, stage)->root[static_cast<std::size_t>(axis)].index : TW_PLUGIN_NONE;
}

tw_loop Reduction(tw_schedule* s, tw_stage stage, std::int32_t axis) {
  if (axis < 0 || axis >= ReductionCount(s, stage)) return TW_PLUGIN_NONE;
  return InfoOf(s, stage)->root[static_cast<std::size_t>(SpatialCount(s, stage) + axis)].index;
}

std::int64_t Extent(tw_schedule* s, tw_loop loop) {
  const bool known = loop >= 0 && loop < static_cast<std::int64_t>(s->schedule.loop_count());
  return known ? s->schedule.Extent({loop}) : TW_PLUGIN_NONE;
}

tw_loop Leaf(tw_schedule* s, tw_stage stage, std::int32_t i) {
  const auto* info = InfoOf(s, stage);
  const bool known = info != nullptr && i >= 0 && i < std::ssize(info->leaves);
  return known ? info->leaves[static_cast<std::size_t>(i)].index : TW_PLUGIN_NONE;
}

// ---- Schedule primitives

Schedule& Change(tw_schedule* s) {
  s->changed = true;
  return s->schedule;
}

void Refuse(tw_schedule* s, const char* reason) {
  s->schedule.Refuse(reason == nullptr ? "refused without a reason" : TextOf(reason));
}

void Layouts(tw_schedule* s, const char* data, const char* weight, const char* output) {
  if (s->changed) return s->schedule.Refuse("layouts: must be set before any loop transformation");
  if (!s->schedule.status().ok()) return;
  s->layouts.data = TextOf(data);
  s->layouts.weight = TextOf(weight);
  s->layouts.output = TextOf(output);
  auto compute = DefineAnchor(s->workload, s->epilogue, s->layouts);
  if (!compute.ok()) return s->schedule.Refuse(compute.status().message());
  s->schedule = Schedule(*std::move(compute));
}

void Split(tw_schedule* s, tw_stage stage, tw_loop loop, std::int64_t factor, std::int32_t peel,
           tw_loop* outer, tw_loop* inner) {
  const Tail tail = peel != 0 ? Tail::kPeel : Tail::kGuard;
  const auto loops = Change(s).Split({stage}, {loop}, factor, tail);
  if (outer != nullptr) *outer = loops.first.index;
  if (inner != nullptr) *inner = loops.second.index;
}

tw_loop Fuse(tw_schedule* s, tw_stage stage, tw_loop outer, tw_loop inner) {
  return Change(s).Fuse({stage}, {outer}, {inner}).index;
}

void Reorder(tw_schedule* s, tw_stage stage, const tw_loop* order, std::int32_t count) {
  constexpr std::int32_t kMaxLoops = 1024;
  if (order == nullptr || count < 0 || count > kMaxLoops) {
    return s->schedule.Refuse("reorder: no list of loops");
  }
  std::vector<LoopId> loops;
  for (std::int32_t i = 0; i < count; ++i) loops.push_back({order[i]});
  Change(s).Reorder({stage}, loops);
}

void Parallel(tw_schedule* s, tw_stage stage, tw_loop loop) { Change(s).Parallel({stage}, {loop}); }
void Vectorize(tw_schedule* s, tw_stage stage, tw_loop loop) {
  Change(s).Vectorize({stage}, {loop});
}
void Unroll(tw_schedule* s, tw_stage stage, tw_loop loop) { Change(s).Unroll({stage}, {loop}); }

void Bind(tw_schedule* s, tw_stage stage, tw_loop loop, std::int32_t thread) {
  constexpr std::array kThreads = {LoopKind::kBlockX,       LoopKind::kBlockY,  LoopKind::kBlockZ,
                                   LoopKind::kThreadX,      LoopKind::kThreadY, LoopKind::kThreadZ,
                                   LoopKind::kVirtualThread};
  if (thread < 0 || thread >= std::ssize(kThreads)) {
    return s->schedule.Refuse("bind: " + std::to_string(thread) + " is not a TW_THREAD_ constant");
  }
  Change(s).Bind({stage}, {loop}, kThreads[static_cast<std::size_t>(thread)]);
}

void Pragma(tw_schedule* s, tw_stage stage, tw_loop loop, const char* name, std::int64_t value) {
  Change(s).Pragma({stage}, {loop}, TextOf(name), value);
}

void Prefetch(tw_schedule* s, tw_stage stage, const char* buffer, tw_loop loop,
              std::int64_t distance) {
  Change(s).Prefetch({stage}, TextOf(buffer), {loop}, distance);
}

void Tensorize(tw_schedule* s, tw_stage stage, tw_loop loop, const char* intrinsic) {
  Change(s).Tensorize({stage}, {loop}, TextOf(intrinsic));
}

void ComputeAt(tw_schedule* s, tw_stage stage, tw_stage consumer, tw_loop loop) {
  Change(s).ComputeAt({stage}, {consumer}, {loop});
}
void ComputeInline(tw_schedule* s, tw_stage stage) { Change(s).ComputeInline({stage}); }

/// Returns the scope of a TW_MEMORY_ constant; none after an error.
std::optional<Scope> ScopeOf(tw_schedule* s, std::int32_t memory) {
  constexpr std::array kScopes = {Scope::kGlobal, Scope::kLocal, Scope::kShared};
  if (memory >= 0 && memory < std::ssize(kScopes)) return kScopes[static_cast<std::size_t>(memory)];
  s->schedule.Refuse("there is no memory " + std::to_string(memory));
  return std::nullopt;
}

tw_stage CacheWrite(tw_schedule* s, tw_stage stage, std::int32_t memory) {
  const auto scope = ScopeOf(s, memory);
  return scope ? Change(s).CacheWrite({stage}, *scope).index : TW_PLUGIN_NONE;
}

tw_stage CacheRead(tw_schedule* s, const char* buffer, std::int32_t memory, tw_stage reader) {
  const auto scope = ScopeOf(s, memory);
  return scope ? Change(s).CacheRead(TextOf(buffer), *scope, {reader}).index : TW_PLUGIN_NONE;
}

tw_stage RFactor(tw_schedule* s, tw_stage stage, std::int32_t reduction, std::int64_t factor) {
  return Change(s).RFactor({stage}, reduction, factor).index;
}

void SetMemory(tw_schedule* s, tw_stage stage, std::int32_t memory) {
  if (const auto scope = ScopeOf(s, memory)) Change(s).SetScope({stage}, *scope);
}

void SkipZeroTaps(tw_schedule* s, tw_stage stage) { Change(s).SkipZeroTaps({stage}); }
void DoubleBuffer(tw_schedule* s, tw_stage stage) { Change(s).DoubleBuffer({stage}); }
void Pipeline(tw_schedule* s, tw_stage stage, std::int32_t copies) {
  Change(s).Pipeline({stage}, copies);
}
void PadRows(tw_schedule* s, tw_stage stage, std::int64_t rows, std::int64_t elements) {
  Change(s).PadRows({stage}, rows, elements);
}

constexpr tw_host kHost = {
    .struct_size = sizeof(tw_host),
    .knob_split = &KnobSplit,
    .knob_integer = &KnobInteger,
    .knob_factors = &KnobFactors,
    .knob_order = &KnobOrder,
    .knob_word = &KnobWord,
    .integer = &Integer,
    .item = &Item,
    .word = &Word,
    .stage = &Stage,
    .spatial_count = &SpatialCount,
    .reduction_count = &ReductionCount,
    .spatial = &Spatial,
    .reduction = &Reduction,
    .extent = &Extent,
    .leaf = &Leaf,
    .refuse = &Refuse,
    .layouts = &Layouts,
    .split = &Split,
    .fuse = &Fuse,
    .reorder = &Reorder,
    .parallel = &Parallel,
    .vectorize = &Vectorize,
    .unroll = &Unroll,
    .bind = &Bind,
    .pragma = &Pragma,
    .prefetch = &Prefetch,
    .tensorize = &Tensorize,
    .compute_at = &ComputeAt,
    .compute_inline = &ComputeInline,
    .cache_write = &CacheWrite,
    .cache_read = &CacheRead,
    .rfactor = &RFactor,
    .set_memory = &SetMemory,
    .skip_zero_taps = &SkipZeroTaps,
    .double_buffer = &DoubleBuffer,
    .pipeline = &Pipeline,
    .pad_rows = &PadRows,
};

}  // namespace
}  // namespace tilewright::plugins::plugin_host

namespace tilewright::plugins {

const tw_host& PluginHost() { return plugin_host::kHost; }

}  // namespace tilewright::plugins
