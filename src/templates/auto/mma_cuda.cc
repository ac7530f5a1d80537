// `auto.cuda/mma`: a contraction whose sums are a matrix product of tensor cores. The axes along
// which the factors are read decide which axes of the result are rows, columns and a grid of
// products, and which reduction axis is the run. Factors whose innermost dimension is not the run
// are transposed on their way to shared memory.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/simplify.h"
#include "src/ir/visit.h"
#include "src/schedule/dot.h"
#include "src/target/gpu.h"
#include "src/templates/auto/contraction.h"
#include "src/templates/auto/grid_stages.h"
#include "src/templates/auto/rules.h"
#include "src/templates/auto/templates.h"
#include "src/templates/auto/tile_stages.h"
#include "src/templates/cuda/mma.h"
#include "src/templates/limits.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace mma_cuda_auto {
namespace {

/// Factor of the products.
struct Factor {
  std::size_t operand = 0;  ///< of the contraction
  int dimension = -1;       ///< dimension whose index is the run
  bool transposed = false;  ///< the dimension is not the innermost one

  const Buffer& BufferOf(const Contraction& c) const { return c.operands[operand].buffer; }
  std::string BufferName(const Contraction& c) const {
    const std::string& name = BufferOf(c)->name;
    return transposed ? name + ".turned" : name;
  }
};

/// Reasons why an instruction does not fit, in the order of the search.
enum class Misfit : std::uint8_t { kDevice, kSums, kRun, kLength };

/// Contraction as one product of matrices, or a grid of them.
struct GridProduct {
  Contraction contraction;
  const MmaIntrinsic* mma = nullptr;
  MmaSizes sizes;
  int row = -1, column = -1, run = -1;  ///< axes of the main stage
  Factor data, weight;                  ///< the factor with the row, and with the column
  Misfit misfit = Misfit::kDevice;      ///< without mma: that of the instruction that came closest
};

bool IsIndexedBy(const ExprNode& load, const Expr& var) {
  return std::ranges::any_of(load.args, [&](const Expr& index) { return Contains(index, var); });
}

/// Returns the dimension whose index is the variable alone, if no other index contains it; else -1.
int DimensionOf(const ExprNode& load, const Expr& var) {
  int found = -1;
  for (std::size_t d = 0; d < load.args.size(); ++d) {
    if (!Contains(load.args[d], var)) continue;
    if (found >= 0 || !load.args[d].Same(var)) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

/// Returns the last axis with more than one element along which one factor is read and the other
/// one is not.
int AxisOfOne(const ComputeOp& op, const ExprNode& with, const ExprNode& without) {
  for (int i = static_cast<int>(op.axes.size()) - 1; i >= 0; --i) {
    const Axis& axis = op.axes[static_cast<std::size_t>(i)];
    if (axis.extent > 1 && IsIndexedBy(with, axis.var) && !IsIndexedBy(without, axis.var)) return i;
  }
  return -1;
}

/// Chooses the instruction, and the run for it, if it fits the sizes and no larger one does.
void ChooseRun(GridProduct& product, const ExprNode& a, const ExprNode& b, int capability,
               const MmaIntrinsic& mma) {
  const ComputeOp& op = product.contraction.op();
  const std::int64_t m = product.contraction.extent(product.row);
  const std::int64_t n = product.contraction.extent(product.column);
  const auto misfit = [&](Misfit why) { product.misfit = std::max(product.misfit, why); };
  if (mma.capability > capability) return;
  if (m % mma.m != 0 || n % mma.n != 0) return misfit(Misfit::kSums);
  misfit(Misfit::kRun);
  std::int64_t products = 1;
  for (const Axis& axis : op.reduce_axes) products *= axis.extent;
  for (int i = 0; i < static_cast<int>(op.reduce_axes.size()); ++i) {
    const Axis& axis = op.reduce_axes[static_cast<std::size_t>(i)];
    const int of_a = DimensionOf(a, axis.var), of_b = DimensionOf(b, axis.var);
    if (of_a < 0 || of_b < 0) continue;
    misfit(Misfit::kLength);
    if (axis.extent % mma.k != 0) continue;
    const bool larger = product.mma == nullptr || mma.m * mma.k > product.mma->m * product.mma->k;
    if (!larger && axis.extent <= product.sizes.k) continue;
    product.mma = &mma;
    product.run = i;
    product.sizes = {.m = m, .n = n, .k = axis.extent, .runs = products / axis.extent};
    product.data.dimension = of_a;
    product.weight.dimension = of_b;
  }
}

/// Returns the reason why no instruction fits.
std::string NoTemplateReason(const GridProduct& product, int capability) {
  const Contraction& c = product.contraction;
  switch (product.misfit) {
    case Misfit::kDevice:
      return fmt::format("sm_{} has no tensor cores for these types", capability);
    case Misfit::kSums:
      return fmt::format(
          "tensor cores of sm_{} have no product for these types that divides {} x {} sums",
          capability, c.extent(product.row), c.extent(product.column));
    case Misfit::kRun:
      return "no reduced axis is an index of both factors by itself";
    case Misfit::kLength:
      return fmt::format(
          "tensor cores of sm_{} have no product for these types that divides the length of an "
          "axis that both factors are reduced along",
          capability);
  }
  return "";
}

/// Whether the distance between neighbours along the axis is the same everywhere.
bool IsLinearAlong(const ComputeOp& op, const ExprNode& load, const Expr& var) {
  Ranges ranges;
  for (const Axis& axis : op.axes) ranges.Set(axis.var, {0, axis.extent - 1});
  for (const Axis& axis : op.reduce_axes) ranges.Set(axis.var, {0, axis.extent - 1});
  return std::ranges::all_of(load.args, [&](const Expr& index) {
    if (!Contains(index, var)) return true;
    if (index.dtype() != kInt64) return false;
    const LinearForm form = LinearForm::Of(index, ranges);
    return std::ranges::all_of(form.terms, [&](const LinearForm::Term& term) {
      return term.atom.Same(var) || !Contains(term.atom, var);
    });
  });
}

Result<GridProduct> FindGridProduct(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  TW_ASSIGN_OR_RETURN(auto found, FindContraction(w.expression));
  GridProduct product;
  product.contraction = std::move(found);
  const Contraction& c = product.contraction;
  if (HasKind(c.op().body, ExprKind::kSelect)) {
    return Unsupported("a condition in the products, expected it in a stage before them");
  }
  bool typed = false;
  for (const MmaIntrinsic& mma : MmaIntrinsics()) {
    if (mma.operand == kFloat32 && !AllowsTf32(target)) continue;
    const auto operands = MatchProducts(c.op(), *TypesOfIntrinsic(mma.name));
    if (!operands.ok()) continue;
    typed = true;
    const ExprNode *a = operands->a.get(), *b = operands->b.get();
    if (a->buffer == b->buffer) return Unsupported("both factors are of one tensor");
    // The innermost axis of the result becomes the columns if possible.
    const int of_a = AxisOfOne(c.op(), *a, *b), of_b = AxisOfOne(c.op(), *b, *a);
    if (of_a < 0 || of_b < 0) return Unsupported("the sums are no product of matrices");
    if (of_a > of_b) std::swap(a, b);
    product.row = std::min(of_a, of_b);
    product.column = std::max(of_a, of_b);
    if (!IsLinearAlong(c.op(), *b, c.op().axes[static_cast<std::size_t>(product.column)].var)) {
      return Unsupported("columns are read that are not the same distance apart everywhere");
    }
    ChooseRun(product, *a, *b, capability, mma);
    const auto number = [&](const ExprNode* load) {
      const auto at = std::ranges::find(c.operands, load->buffer, &Contraction::Operand::buffer);
      return static_cast<std::size_t>(at - c.operands.begin());
    };
    product.data.operand = number(a);
    product.weight.operand = number(b);
  }
  if (!typed) {
    return Unsupported(
        "only products of int8 summed in int32 and of float16 summed in float32, as they are "
        "stored, and of float32 where the target says -tf32");
  }
  if (product.mma == nullptr) {
    return Unsupported(NoTemplateReason(product, capability));
  }
  for (Factor* factor : {&product.data, &product.weight}) {
    const std::size_t rank = c.operands[factor->operand].buffer->shape.size();
    factor->transposed = factor->dimension + 1 != static_cast<int>(rank);
  }
  return product;
}

/// Returns the knobs of matrix products; with one copy only if a factor is transposed whose
/// elements are shorter than the shortest asynchronous copy.
Result<ConfigSpace> ProductSpace(const GridProduct& product, const Target& target) {
  constexpr int kShortestCopy = 4;  // bytes
  const bool transposed = product.data.transposed || product.weight.transposed;
  auto space = MmaSpace(*product.mma, product.sizes, target);
  if (!transposed || product.mma->operand.bytes() >= kShortestCopy || !space.ok()) return space;
  ConfigSpace one;
  for (const Knob& knob : space->knobs()) {
    TW_RETURN_IF_ERROR(one.Add(knob.name() == "stages" ? Knob::Other("stages", {1}) : knob));
  }
  return one;
}

/// Copies a factor to shared memory, in the order in which the sum reads it.
MmaProduct::Copy CopyFactor(Schedule& s, const GridProduct& product, const Factor& factor,
                            StageId sum) {
  const std::string name = factor.BufferName(product.contraction);
  if (!factor.transposed) return {s.CacheRead(name, Scope::kShared, sum), {}};
  const StageId transposed = s.Stage(name);
  s.SetScope(transposed, Scope::kShared);
  // The run is the last axis of the copy, and precedes others in its source.
  MmaProduct::Copy copy{transposed, {}};
  const int last = static_cast<int>(s.stage(transposed).op.axes.size()) - 1;
  for (int i = 0; i < last; ++i) copy.read_order.push_back(i);
  copy.read_order.insert(copy.read_order.begin() + factor.dimension, last);
  return copy;
}

Result<Kernel> ScheduleGridProduct(const GridProduct& product, const Target& target,
                                   const Config& config) {
  TW_RETURN_IF_ERROR(CheckMmaBlock(*product.mma, product.sizes, target, config));
  Contraction c = product.contraction;
  std::vector<std::string> arranged = {"contraction"};
  for (const Factor* factor : {&product.data, &product.weight}) {
    if (!factor->transposed) continue;
    TransposeOperand(c, factor->operand, factor->dimension);
    arranged.push_back(fmt::format("turn, {}, {}", factor->operand, factor->dimension));
  }
  Schedule s(c.compute);
  const StageId main = s.Stage(c.op().name);
  // Stages that compute the factors are inlined in the copies.
  std::vector<StageId> kept, makers;
  for (const StageId id : s.order()) {
    bool as_it_is = true;
    if (s.stage(id).op.combiner != Combiner::kNone || id == main) continue;
    if (!ReadsBuffer(s, main, s.stage(id).op.output, &as_it_is)) continue;
    kept.push_back(id);
    if (!s.stage(id).op.name.ends_with(".turned")) makers.push_back(id);
  }
  InlineElementwise(s, kept);
  const auto [sum, writer] = SumInRegisters(s, main);
  MmaProduct stages;
  stages.sum = sum;
  stages.result = writer;
  stages.row = product.row;
  stages.column = product.column;
  stages.run = product.run;
  stages.data = CopyFactor(s, product, product.data, sum);
  stages.weight = CopyFactor(s, product, product.weight, sum);
  for (const StageId maker : makers) s.ComputeInline(maker);
  stages.vectorize = product.column == c.vector_axis;
  std::int64_t products = 1;
  for (int i = 0; i < static_cast<int>(c.op().axes.size()); ++i) {
    if (i != product.row && i != product.column) products *= c.extent(i);
  }
  stages.grid_along_x = products > LaunchLimits().grid[2];
  ScheduleMmaProduct(s, *product.mma, stages, config);
  DistributeStages(s, {writer}, {.row_threads = 32});
  return FinishKernel(std::move(s), {}, std::move(arranged));
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string why = RefusesAnyExpression(w, target); !why.empty()) return why;
  return FindGridProduct(w, target).status().message();
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto product, FindGridProduct(w, target));
  return ProductSpace(product, target);
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto product, FindGridProduct(w, target));
  auto config = MmaDefault(*product.mma, product.sizes, target);
  TW_RETURN_IF_ERROR(config);
  TW_ASSIGN_OR_RETURN(auto space, ProductSpace(product, target));
  // A transposed factor is copied element by element; a stage that computes a factor may not be a
  // plain copy.
  const Contraction& c = product.contraction;
  bool plain = true;
  for (const Factor* factor : {&product.data, &product.weight}) {
    plain = plain && !factor->transposed && c.operands[factor->operand].input >= 0;
  }
  // Rows at unaligned positions cannot be copied asynchronously, and long steps or large blocks may
  // not fit: then try less.
  const std::vector<std::vector<std::string_view>> less = {
      {}, {"stages"}, {"steps_k"}, {"warps_m", "warps_n"}, {"tiles_m", "tiles_n"}};
  for (const std::vector<std::string_view>& names : less) {
    for (auto& [name, value] : config->values) {
      const bool one = std::ranges::find(names, name) != names.end();
      if (one || (name == "stages" && !plain)) value = KnobValue{std::int64_t{1}};
    }
    config = space.Locate(*config);
    TW_RETURN_IF_ERROR(config);
    const auto kernel = ScheduleGridProduct(product, target, *config);
    if (kernel.ok() && Lower(kernel->schedule, "kernel", LowerLimitsFor(target)).ok()) break;
  }
  return config;
}

Result<Kernel> Apply(const Workload& w, const Epilogue&, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto product, FindGridProduct(w, target));
  return ScheduleGridProduct(product, target, config);
}

}  // namespace
}  // namespace mma_cuda_auto

TemplateEntry AutoMmaCudaEntry() {
  using namespace mma_cuda_auto;
  return LoopTemplate("auto.cuda/mma", 1, "cuda", MmaKnobs(), &Refuses, &DefineSpace,
                      &DefaultConfig, &Apply);
}

}  // namespace tilewright
