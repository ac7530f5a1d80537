// Products of float rows and weights of few bits in blocks (src/tensor/block_quantized.h). Vectors
// are along 16 columns, whose packed weights are next to each other, so that the weights are read
// once as a few streams.
//
// Float data: with few rows, the integers of a byte are unpacked to floats in registers, and each
// block's sum is scaled once; the zero point is subtracted from that sum, times the sum of the
// block's data. With more rows, a panel of columns is unpacked, scaled and kept in memory for all
// of them ("panel"), and the rest is a float product.
//
// Integer data: the blocks of the data are quantized before. The integers of four bytes are
// operands of a dot product, whose sums are scaled once for each block.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/cpu/templates.h"
#include "src/templates/matmul_tile.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/tensor/block_quantized.h"

namespace tilewright {
namespace matmul_nbits_cpu {
namespace {

constexpr std::int64_t kColumns = BlockQuantizedMatmul::kColumns;
constexpr std::int64_t kRowsOfPanel = 8;          // from which a panel is faster
constexpr std::int64_t kPanelBytes = 512 * 1024;  // in the second cache of a core
constexpr std::int64_t kPartialSums = 16;         // of sums and maxima of a block of the data

struct Plan {
  BlockQuantizedMatmul p;
  std::vector<BlockQuantizedInput> inputs;
  std::int64_t registers = 0;  ///< that hold 16 lanes
  bool fast_dot = false;       ///< one instruction multiplies bytes
};

Result<Plan> MakePlan(const Workload& w, const Target& target) {
  if (w.op != OpKind::kExpression) return Unsupported("only expressions");
  auto found = FindBlockQuantized(w.expression);
  if (!found) return Unsupported("only products of weights of few bits in blocks");
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  Plan plan;
  plan.p = found->matmul;
  plan.inputs = std::move(found->inputs);
  plan.fast_dot = features.has_int8_dot();
  plan.registers =
      std::max<std::int64_t>(features.vector_registers() * features.float_lanes() / kColumns, 4);
  return plan;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile", "Rows, and blocks of 16 columns, whose sums stay in registers."},
    {"unroll",
     "Vectors of packed weights of a block that are unrolled; with a panel, products of a sum."},
    {"panel",
     "1: with float data, the weights of a tile's columns are unpacked and scaled once, into "
     "memory, for all rows. 0: they are unpacked in registers for each tile."},
    {"apart",
     "1: without a panel, integers of one place in their bytes are multiplied where they are, and "
     "each block's sum of them is scaled down. 0: integers are shifted."},
};

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  std::vector<std::int64_t> panels = {0}, apart = {0};
  if (!plan.p.integer_data) panels.push_back(1);
  if (plan.p.bits < 8) apart.push_back(1);
  return MakeSpace(
      {Knob::Lists("register_tile", MatmulTiles(plan.p.m, plan.p.groups(), plan.registers)),
       Knob::Other("unroll", {1, 2, 4, 8, 16}), Knob::Other("panel", panels),
       Knob::Other("apart", apart)});
}

// --- the computation ---------------------------------------------------------------------------

Axis Spatial(const char* name, std::int64_t extent) { return {MakeVar(name), extent, false}; }
Axis Reduced(const char* name, std::int64_t extent) { return {MakeVar(name), extent, true}; }

ComputeOp StageOf(std::string name, DataType dtype, std::vector<Axis> axes,
                  std::vector<Axis> reduced, Expr body, Combiner combiner = Combiner::kSum) {
  ComputeOp stage;
  std::vector<std::int64_t> shape;
  for (const Axis& axis : axes) shape.push_back(axis.extent);
  stage.output = MakeBuffer(name, dtype, std::move(shape));
  stage.name = std::move(name);
  stage.axes = std::move(axes);
  stage.combiner = reduced.empty() ? Combiner::kNone : combiner;
  stage.reduce_axes = std::move(reduced);
  stage.body = std::move(body);
  return stage;
}

/// Stages of the product, in the order of `compute`.
class Definer {
 public:
  Definer(const Plan& plan, const Workload& w) : p_(plan.p) {
    buffers_.resize(4);
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
      const ExpressionInput& input = w.expression.inputs[i];
      compute_.inputs.push_back(MakeBuffer(input.name, input.type.dtype, input.type.shape));
      buffers_[static_cast<std::size_t>(plan.inputs[i])] = compute_.inputs.back();
    }
    compute_.macs = p_.m * p_.n * p_.k;
  }

  /// apart: integers of one place in their bytes are summed apart.
  Compute Floats(bool apart) {
    const Buffer x = Input(BlockQuantizedInput::kData);
    const Buffer total = AddTotal(x, kFloat32);
    const Axis m = Spatial("m", p_.m), g = Spatial("g", p_.groups()), b = Spatial("b", p_.blocks()),
               l = Spatial("l", kColumns);
    Axis c = Reduced("c", p_.block_bytes()), j = Reduced("j", p_.per_byte());
    j.reduction = !apart;
    std::vector<Expr> byte = {g.var, b.var, c.var, l.var};
    const Expr weight =
        apart ? InPlace(kUInt32, std::move(byte), j.var) : Integer(std::move(byte), j.var);
    const Expr data =
        MakeLoad(x, {m.var, b.var * Expr(p_.block) + c.var * Expr(p_.per_byte()) + j.var});
    std::vector<Axis> axes = {m, g, b, l}, reduced = {c, j};
    if (apart) axes = {m, g, b, j, l}, reduced = {c};
    AddSums(Add(StageOf("part", kFloat32, std::move(axes), std::move(reduced),
                        data * MakeCast(kFloat32, weight))),
            total);
    AddResult();
    return std::move(compute_);
  }

  Compute Panel() {
    const std::int64_t block = p_.block, per_byte = p_.per_byte();
    const Axis g = Spatial("g", p_.groups()), b = Spatial("b", p_.blocks()),
               c = Spatial("c", p_.block_bytes()), j = Spatial("j", per_byte),
               l = Spatial("l", kColumns);
    const Expr centred =
        MakeCast(kFloat32, Integer({g.var, b.var, c.var, l.var}, j.var)) - Zero(kFloat32, g, b, l);
    const Buffer panel = Add(StageOf("panel", kFloat32, {g, b, c, j, l}, {},
                                     centred * Value(BlockQuantizedInput::kScales, g, b, l)));
    const Axis m = Spatial("m", p_.m), h = Spatial("g", p_.groups()), i = Spatial("l", kColumns);
    const Axis rb = Reduced("b", p_.blocks()), rc = Reduced("c", p_.block_bytes()),
               rj = Reduced("j", per_byte);
    const Expr data = MakeLoad(Input(BlockQuantizedInput::kData),
                               {m.var, rb.var * Expr(block) + rc.var * Expr(per_byte) + rj.var});
    Add(StageOf("sums", kFloat32, {m, h, i}, {rb, rc, rj},
                data * MakeLoad(panel, {h.var, rb.var, rc.var, rj.var, i.var})));
    AddResult();
    return std::move(compute_);
  }

  /// apart: integers of one place in their bytes are summed apart.
  Compute Integers(bool apart) {
    const Buffer q = Quantize();
    const Buffer total = AddTotal(q, kInt32);
    constexpr std::int64_t kBytes = 4;
    const std::int64_t steps = p_.block_bytes() / kBytes;
    const Axis ug = Spatial("g", p_.groups()), ub = Spatial("b", p_.blocks()),
               uc = Spatial("c", steps), uj = Spatial("j", p_.per_byte()),
               ul = Spatial("l", kColumns), ut = Spatial("t", kBytes);
    std::vector<Expr> byte = {ug.var, ub.var, uc.var, ul.var, ut.var};
    const Buffer unpacked = Add(StageOf(
        "unpacked", kUInt8, {ug, ub, uc, uj, ul, ut}, {},
        apart ? InPlace(kUInt8, std::move(byte), uj.var) : Integer(std::move(byte), uj.var)));
    const Axis m = Spatial("m", p_.m), g = Spatial("g", p_.groups()), b = Spatial("b", p_.blocks()),
               l = Spatial("l", kColumns);
    Axis c = Reduced("c", steps), j = Reduced("j", p_.per_byte()), t = Reduced("t", kBytes);
    j.reduction = !apart;
    const Expr data =
        MakeLoad(q, {m.var, b.var, (c.var * Expr(p_.per_byte()) + j.var) * Expr(kBytes) + t.var});
    const Expr weight = MakeLoad(unpacked, {g.var, b.var, c.var, j.var, l.var, t.var});
    const Expr product = MakeCast(kInt32, data) * MakeCast(kInt32, weight);
    std::vector<Axis> axes = {m, g, b, l}, reduced = {c, j, t};
    if (apart) axes = {m, g, b, j, l}, reduced = {c, t};
    AddSums(Add(StageOf("part", kInt32, std::move(axes), std::move(reduced), product)), total);
    AddResult();
    return std::move(compute_);
  }

 private:
  const Buffer& Input(BlockQuantizedInput role) const {
    return buffers_[static_cast<std::size_t>(role)];
  }
  Buffer Add(ComputeOp stage) {
    compute_.stages.push_back(std::move(stage));
    return compute_.stages.back().output;
  }
  /// Returns an integer of the weight, as uint8.
  Expr Integer(std::vector<Expr> byte, const Expr& part) const {
    Expr value = MakeLoad(Input(BlockQuantizedInput::kWeight), std::move(byte));
    if (p_.bits == 8) return value;
    value = MakeBinary(ExprKind::kShiftRight, std::move(value),
                       MakeCast(kUInt8, part * Expr(static_cast<std::int64_t>(p_.bits))));
    return FloorMod(std::move(value), MakeInt(kUInt8, std::int64_t{1} << p_.bits));
  }
  /// Returns an integer of the weight times 2^(bits * part), where it is in its byte.
  Expr InPlace(DataType dtype, std::vector<Expr> byte, const Expr& part) const {
    const Expr value =
        MakeCast(dtype, MakeLoad(Input(BlockQuantizedInput::kWeight), std::move(byte)));
    Expr result;
    for (std::int64_t p = 0; p < p_.per_byte(); ++p) {
      const std::int64_t low = std::int64_t{1} << (p * p_.bits), high = low << p_.bits;
      Expr masked = high == 256 ? value : FloorMod(value, MakeInt(dtype, high));
      if (p > 0) masked = std::move(masked) - FloorMod(value, MakeInt(dtype, low));
      result =
          p == 0 ? masked : MakeSelect(Eq(part, Expr(p)), std::move(masked), std::move(result));
    }
    return result;
  }
  /// Adds the stages that quantize the data in blocks; returns the int8 [m, blocks, block].
  Buffer Quantize() {
    const Buffer x = Input(BlockQuantizedInput::kData);
    const Axis tm = Spatial("m", p_.m), tb = Spatial("b", p_.blocks());
    const Axis tk = Reduced("k", p_.block);
    const Expr element = MakeLoad(x, {tm.var, tb.var * Expr(p_.block) + tk.var});
    top_ = Add(StageOf("top", kFloat32, {tm, tb}, {tk}, MakeCall(kFloat32, "abs", {element}),
                       Combiner::kMax));
    const Axis m = Spatial("m", p_.m), b = Spatial("b", p_.blocks()), k = Spatial("k", p_.block);
    const Expr top = MakeLoad(top_, {m.var, b.var});
    const Expr inverse = MakeSelect(Lt(MakeFloat(kFloat32, 0), top),
                                    Div(MakeFloat(kFloat32, 127), top), MakeFloat(kFloat32, 0));
    const Expr scaled = MakeLoad(x, {m.var, b.var * Expr(p_.block) + k.var}) * inverse;
    return Add(StageOf("quantized", kInt8, {m, b, k}, {},
                       MakeCast(kInt8, MakeCall(kFloat32, "rint", {scaled}))));
  }
  Expr Value(BlockQuantizedInput role, const Axis& g, const Axis& b, const Axis& l) const {
    return MakeLoad(Input(role), {g.var, b.var, l.var});
  }
  Expr Zero(DataType dtype, const Axis& g, const Axis& b, const Axis& l) const {
    if (p_.zero_points == BlockZeroPoints::kMiddle) {
      return MakeConst(dtype, static_cast<double>(p_.middle()));
    }
    return MakeCast(dtype, Value(BlockQuantizedInput::kZeroPoints, g, b, l));
  }
  /// Adds the sums of the blocks of the data: [m, k] or [m, blocks, block].
  Buffer AddTotal(const Buffer& data, DataType dtype) {
    const Axis m = Spatial("m", p_.m), b = Spatial("b", p_.blocks()), k = Reduced("k", p_.block);
    std::vector<Expr> index = {m.var, b.var, k.var};
    if (data->shape.size() == 2) index = {m.var, b.var * Expr(p_.block) + k.var};
    return Add(
        StageOf("total", dtype, {m, b}, {k}, MakeCast(dtype, MakeLoad(data, std::move(index)))));
  }
  /// Returns the sum of a block, from one sum or from those of integers in place.
  Expr SumOfParts(const Buffer& part, const Axis& m, const Axis& g, const Axis& b,
                  const Axis& l) const {
    if (part->shape.size() == 4) return MakeLoad(part, {m.var, g.var, b.var, l.var});
    Expr sum;
    for (std::int64_t p = 0; p < p_.per_byte(); ++p) {
      Expr one = MakeLoad(part, {m.var, g.var, b.var, Expr(p), l.var});
      const std::int64_t bits = p * p_.bits;
      if (p > 0 && p_.integer_data) {
        one = MakeBinary(ExprKind::kShiftRight, std::move(one), MakeInt(kInt32, bits));
      } else if (p > 0) {
        one = std::move(one) * MakeFloat(kFloat32, std::ldexp(1.0, -static_cast<int>(bits)));
      }
      sum = p == 0 ? one : sum + one;
    }
    return sum;
  }
  /// Adds the sums over blocks.
  void AddSums(const Buffer& part, const Buffer& total) {
    const Axis m = Spatial("m", p_.m), g = Spatial("g", p_.groups()), l = Spatial("l", kColumns),
               b = Reduced("b", p_.blocks());
    const Expr sum = SumOfParts(part, m, g, b, l);
    const Expr of_data = MakeLoad(total, {m.var, b.var});
    const Expr scale = Value(BlockQuantizedInput::kScales, g, b, l);
    const bool floats = p_.zero_points == BlockZeroPoints::kFloats;
    Expr body;
    if (!p_.integer_data) {
      body = (sum - Zero(kFloat32, g, b, l) * of_data) * scale;
    } else {
      const Expr centred =
          floats ? MakeCast(kFloat32, sum) - Zero(kFloat32, g, b, l) * MakeCast(kFloat32, of_data)
                 : MakeCast(kFloat32, sum - Zero(kInt32, g, b, l) * of_data);
      const Expr unit = Div(MakeLoad(top_, {m.var, b.var}), MakeFloat(kFloat32, 127));
      body = centred * (unit * scale);
    }
    Add(StageOf("sums", kFloat32, {m, g, l}, {b}, body));
  }
  void AddResult() {
    const Axis m = Spatial("m", p_.m), n = Spatial("n", p_.n);
    const Buffer sums = compute_.stages.back().output;
    Add(StageOf(
        "result", kFloat32, {m, n}, {},
        MakeLoad(sums, {m.var, FloorDiv(n.var, Expr(kColumns)), FloorMod(n.var, Expr(kColumns))})));
  }

  const BlockQuantizedMatmul& p_;
  Compute compute_;
  std::vector<Buffer> buffers_;
  Buffer top_;
};

// --- the schedule ------------------------------------------------------------------------------

/// Schedules a sum or maximum of each block of the data, in vectors of partial results.
void ScheduleBlockReduction(Schedule& s, StageId stage, const Target& target) {
  const StageId parts = s.RFactor(stage, 0, kPartialSums);
  ParallelFor(s, stage, s.SpatialAxis(stage, 0), target);
  s.Unroll(stage, s.ReductionAxis(stage, 0));
  s.SetScope(parts, Scope::kLocal);
  s.ComputeAt(parts, stage, s.SpatialAxis(stage, 1));
  const LoopId lanes = s.SpatialAxis(parts, 2);
  s.Reorder(parts,
            {s.ReductionAxis(parts, 0), s.SpatialAxis(parts, 0), s.SpatialAxis(parts, 1), lanes});
  s.Vectorize(parts, lanes);
}

/// Schedules the quantization of the data.
void ScheduleQuantized(Schedule& s, const Target& target) {
  const StageId quantized = s.Stage("quantized");
  const auto [step, lane] = s.Split(quantized, s.SpatialAxis(quantized, 2), kColumns);
  s.Unroll(quantized, step);
  s.Vectorize(quantized, lane);
  ParallelFor(s, quantized, s.SpatialAxis(quantized, 0), target);
}

/// Schedules the sums over blocks and the sums of a block inside them. Returns the loop of the
/// block's steps.
LoopId ScheduleSums(Schedule& s, StageId sums, StageId part, std::int64_t unroll, bool dot) {
  const LoopId block = s.ReductionAxis(sums, 0);
  s.Reorder(sums, {block, s.SpatialAxis(sums, 0), s.SpatialAxis(sums, 1), s.SpatialAxis(sums, 2)});
  s.Unroll(sums, s.SpatialAxis(sums, 0));
  s.Unroll(sums, s.SpatialAxis(sums, 1));
  s.Vectorize(sums, s.SpatialAxis(sums, 2));

  s.SetScope(part, Scope::kLocal);
  s.ComputeAt(part, sums, block);
  const auto [steps, step] = s.Split(part, s.ReductionAxis(part, 0), unroll, Tail::kPeel);
  const bool apart = s.stage(part).op.axes.size() == 5;
  const LoopId m = s.SpatialAxis(part, 0), g = s.SpatialAxis(part, 1),
               l = s.SpatialAxis(part, apart ? 4 : 3);
  const LoopId j = apart ? s.SpatialAxis(part, 3) : s.ReductionAxis(part, 1);
  std::vector<LoopId> order = {s.SpatialAxis(part, 2), steps, step, j, m, g, l};
  if (dot) order.push_back(s.ReductionAxis(part, apart ? 1 : 2));
  s.Reorder(part, order);
  for (const LoopId loop : {step, j, m, g}) s.Unroll(part, loop);
  if (dot) {
    s.Tensorize(part, l, "dot4.s8u8");
  } else {
    s.Vectorize(part, l);
  }
  return step;
}

/// Schedules the integers that the dot products of one step share.
void ScheduleUnpacked(Schedule& s, StageId unpacked, StageId part, LoopId step) {
  s.SetScope(unpacked, Scope::kLocal);
  s.ComputeAt(unpacked, part, step);
  const LoopId lanes = s.Fuse(unpacked, s.SpatialAxis(unpacked, 4), s.SpatialAxis(unpacked, 5));
  for (const int axis : {0, 2, 3}) s.Unroll(unpacked, s.SpatialAxis(unpacked, axis));
  s.Vectorize(unpacked, lanes);
}

/// Schedules the unpacked columns of a tile for all rows, and the sums that read them.
void SchedulePanel(Schedule& s, StageId result, LoopId at, StageId sums, std::int64_t unroll) {
  const StageId panel = s.Stage("panel");
  s.ComputeAt(panel, result, at);
  s.Unroll(panel, s.SpatialAxis(panel, 3));
  s.Vectorize(panel, s.SpatialAxis(panel, 4));
  const auto [steps, step] = s.Split(sums, s.ReductionAxis(sums, 1), unroll, Tail::kPeel);
  const LoopId j = s.ReductionAxis(sums, 2), m = s.SpatialAxis(sums, 0), g = s.SpatialAxis(sums, 1),
               l = s.SpatialAxis(sums, 2);
  s.Reorder(sums, {s.ReductionAxis(sums, 0), steps, step, j, m, g, l});
  for (const LoopId loop : {step, j, m, g}) s.Unroll(sums, loop);
  s.Vectorize(sums, l);
}

std::string Refuses(const Workload& w, const Target& target) {
  return MakePlan(w, target).status().message();
}

Result<Config> DefaultOf(const Plan& plan) {
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  const BlockQuantizedMatmul& p = plan.p;
  const bool panel = !p.integer_data && p.m >= kRowsOfPanel;
  std::int64_t groups = p.groups();
  if (panel) {
    const std::int64_t fit = kPanelBytes / (p.k * kColumns * kFloat32.bytes());
    groups = std::clamp<std::int64_t>(fit, 1, groups);
  }
  // One row is fastest with one stream of weights; more rows share what is unpacked.
  MatmulTile tile = p.m == 1 ? MatmulTile{1, 1} : DefaultMatmulTile(p.m, groups, plan.registers);
  tile[1] = MinWasteTiles(p.groups(), tile[1]).back();  // the space has tiles of all columns
  // With more rows, shifts are shared, and sums apart take registers.
  const bool apart = p.bits < 8 && p.m == 1 && (plan.fast_dot || !p.integer_data);
  return LocateValues(space, {{"register_tile", KnobValue{tile}},
                              {"unroll", KnobValue{std::int64_t{p.m == 1 ? 8 : 4}}},
                              {"panel", KnobValue{std::int64_t{panel ? 1 : 0}}},
                              {"apart", KnobValue{std::int64_t{apart ? 1 : 0}}}});
}

Result<Kernel> ApplyPlan(const Plan& plan, const Workload& w, const Epilogue& epilogue,
                         const Target& target, const Config& config) {
  if (!epilogue.steps.empty()) return Unsupported("an expression has no epilogue");
  const bool panel = config.Integer("panel") != 0, integers = plan.p.integer_data;
  Definer definer(plan, w);
  const bool apart = config.Integer("apart") != 0;
  Schedule s(integers ? definer.Integers(apart) : panel ? definer.Panel() : definer.Floats(apart));
  const StageId result = s.Stage("result"), sums = s.Stage("sums");
  const MatmulTile& tile = config.Factors("register_tile");
  const MatmulLoops loops = TileMatmulResult(s, result, false, tile, kColumns);
  s.SetScope(sums, Scope::kLocal);
  const std::int64_t unroll = config.Integer("unroll");
  if (panel) {
    ParallelFor(s, result, loops.group, target);
    s.ComputeAt(sums, result, loops.rows);
    SchedulePanel(s, result, loops.group, sums, unroll);
  } else {
    const LoopId outer = FuseAll(s, result, {loops.group, loops.rows});
    ParallelFor(s, result, outer, target);
    s.ComputeAt(sums, result, outer);
    const StageId part = s.Stage("part");
    const LoopId step = ScheduleSums(s, sums, part, unroll, integers);
    if (integers) {
      ScheduleUnpacked(s, s.Stage("unpacked"), part, step);
      ScheduleBlockReduction(s, s.Stage("top"), target);
      ScheduleQuantized(s, target);
    }
    ScheduleBlockReduction(s, s.Stage("total"), target);
  }
  return FinishKernel(std::move(s));
}

}  // namespace
}  // namespace matmul_nbits_cpu

TemplateEntry MatmulNbitsCpuEntry() {
  using namespace matmul_nbits_cpu;
  return LoopTemplate("matmul_nbits.cpu", 1, "llvm", kKnobs, &Refuses,
                      &SpaceByPlan<&MakePlan, &SpaceOf>, &DefaultByPlan<&MakePlan, &DefaultOf>,
                      &ApplyByPlan<&MakePlan, &ApplyPlan>);
}

}  // namespace tilewright
