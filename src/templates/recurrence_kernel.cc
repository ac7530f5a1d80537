// A time step is scheduled and lowered like any list of operators; the loop around it is added
// afterwards (src/schedule/lower/recurrence_loop.h). Steps are short and depend on one another, so
// threads share the products of a step only if the products take longer than the synchronization.
#include "src/templates/recurrence_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/lower/recurrence_loop.h"
#include "src/target/cpu.h"
#include "src/templates/matmul_tile.h"
#include "src/templates/row_schedule.h"
#include "src/templates/stages.h"
#include "src/tensor/compute/define_list.h"
#include "src/tensor/layout.h"
#include "src/tensor/recurrence.h"

namespace tilewright {
namespace {

/// Products of bytes that are summed into one lane.
constexpr std::int64_t kBytesOfDot = 4;

/// Product of a value of the step with a weight that is the same in all steps.
struct StepProduct {
  int value = -1, weight = -1;  // positions in the list
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t lanes = 1;
  bool bytes = false;  // uint8 times int8
  MatmulTile tile;     // rows, vectors
  int packed = -1;     // position in the packed list
  int data = -1;       // the same, of the data
  std::int64_t macs() const { return rows * columns * depth; }
  std::int64_t block() const { return tile[1] * lanes; }
  std::int64_t padded_columns() const { return RoundUp(columns, block()); }
  std::string layout() const {
    const std::string blocks = fmt::format("NK{}n", block());
    return bytes ? fmt::format("{}{}k", blocks, kBytesOfDot) : blocks;
  }
  std::string dot() const { return bytes ? "dot4.u8s8" : ""; }
};

class StepScheduler {
 public:
  StepScheduler(const Recurrence& recurrence, const Target& target, std::int64_t lanes,
                std::int64_t registers)
      : recurrence_(recurrence),
        list_(recurrence.step),
        target_(target),
        serial_(target),
        lanes_(lanes),
        registers_(registers) {
    serial_.SetOption("num-threads", "1");
  }

  Result<RecurrenceKernel> Run(std::int64_t steps, bool open) {
    FindProducts();
    TW_ASSIGN_OR_RETURN(auto packed, PackedList());
    std::vector<Buffer> buffers;
    TW_ASSIGN_OR_RETURN(auto compute, DefineList(packed, &buffers));
    const std::int64_t macs = compute.macs;
    Schedule schedule(std::move(compute));
    ScheduleStep(schedule, buffers);
    TW_RETURN_IF_ERROR(schedule.status());
    TW_ASSIGN_OR_RETURN(auto step, Lower(schedule, "kernel"));
    RecurrenceLoop loop{.steps = steps,
                        .open = open,
                        .results = recurrence_.results,
                        .backwards = recurrence_.backwards,
                        .sliced = static_cast<std::size_t>(recurrence_.sliced),
                        .next = {}};
    for (int next : recurrence_.next) loop.next.push_back(BufferOf(next, buffers));
    return RecurrenceKernel{EmitRecurrenceLoop(step, loop), Layouts(), steps * macs};
  }

 private:
  const OperatorListValue& At(int value) const {
    return list_.values()[static_cast<std::size_t>(value)];
  }

  /// Whether all steps read the parameter, and only as a factor.
  bool IsWeight(int value) const {
    const std::vector<int> parameters = list_.parameters();
    const auto common = parameters.begin() + recurrence_.sliced + std::ssize(recurrence_.next);
    if (std::find(common, parameters.end(), value) == parameters.end()) return false;
    return std::ranges::all_of(list_.values(), [&](const OperatorListValue& user) {
      const auto uses = std::ranges::count(user.operands, value);
      return uses == 0 || (IsProduct(user) && uses == 1 && user.operands[1] == value);
    });
  }
  bool IsProductOfBytes(const OperatorListValue& value) const {
    return value.type.dtype == kInt32 && list_.TypeOf(value.operands[0]).dtype == kUInt8 &&
           list_.TypeOf(value.operands[1]).dtype == kInt8;
  }
  bool IsProduct(const OperatorListValue& value) const {
    return value.op && value.op->kind == OpKind::kDense &&
           (value.type.dtype == kFloat32 || IsProductOfBytes(value)) &&
           (value.op->attributes.kernel_layout.empty() ||
            value.op->attributes.kernel_layout == "NK");
  }

  void FindProducts() {
    for (int i = 0; i < static_cast<int>(list_.values().size()); ++i) {
      const OperatorListValue& value = At(i);
      if (!IsProduct(value) || !IsWeight(value.operands[1])) continue;
      StepProduct product{i,
                          value.operands[1],
                          value.type.shape[0],
                          value.type.shape[1],
                          list_.TypeOf(value.operands[1]).shape[1],
                          lanes_,
                          IsProductOfBytes(value),
                          {}};
      product.tile = TileOf(product);
      products_.push_back(std::move(product));
    }
  }

  /// Returns the tile with the most sums in registers relative to the columns that it adds to the
  /// last block, up to the number of sums that hides the latency of one.
  MatmulTile TileOf(const StepProduct& product) const {
    constexpr std::int64_t kMaxVectors = 8;
    const std::int64_t kEnoughSums = product.bytes ? 16 : 24;
    const std::int64_t vectors = CeilDiv(product.columns, product.lanes);
    MatmulTile best = {1, 1};
    double most = 0;
    for (const MatmulTile& tile : MatmulTiles(product.rows, vectors, registers_)) {
      if (tile[1] > kMaxVectors) continue;
      const auto sums = static_cast<double>(std::min(tile[0] * tile[1], kEnoughSums));
      const double used =
          static_cast<double>(vectors) / static_cast<double>(RoundUp(vectors, tile[1]));
      if (sums * used < most) continue;
      most = sums * used;
      best = tile;
    }
    return best;
  }

  bool HasBytes() const { return std::ranges::any_of(products_, &StepProduct::bytes); }
  static std::size_t Index(int value) { return static_cast<std::size_t>(value); }

  const StepProduct* ProductWith(int weight) const {
    const auto found = std::ranges::find(products_, weight, &StepProduct::weight);
    return found == products_.end() ? nullptr : &*found;
  }

  const Buffer& BufferOf(int value, const std::vector<Buffer>& buffers) const {
    return buffers[static_cast<std::size_t>(numbers_[static_cast<std::size_t>(value)])];
  }

  /// Returns the list with weights in the layouts of their products.
  Result<OperatorList> PackedList() {
    OperatorList packed;
    for (std::size_t i = 0; i < list_.values().size(); ++i) {
      const OperatorListValue& value = list_.values()[i];
      if (value.scalar) {
        numbers_.push_back(packed.AddScalar(value.type, *value.scalar));
      } else if (value.op) {
        TW_ASSIGN_OR_RETURN(auto number, AddOperator(value, static_cast<int>(i), packed));
        numbers_.push_back(number);
      } else {
        TensorType type = value.type;
        if (const StepProduct* product = ProductWith(static_cast<int>(i))) {
          TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(product->layout()));
          type.shape = layout.Pack(type.shape);
        }
        numbers_.push_back(packed.AddParameter(std::move(type)));
      }
    }
    return packed;
  }

  Result<int> AddOperator(const OperatorListValue& value, int own, OperatorList& packed) {
    std::vector<int> operands;
    for (int operand : value.operands) {
      operands.push_back(numbers_[static_cast<std::size_t>(operand)]);
    }
    const auto product = std::ranges::find(products_, own, &StepProduct::value);
    if (product == products_.end()) return packed.AddOperator(*value.op, std::move(operands));
    if (product->bytes && product->depth % kBytesOfDot != 0) {
      Operator pad{OpKind::kPad, {}};
      pad.attributes.pad_width = {0, 0, 0, RoundUp(product->depth, kBytesOfDot) - product->depth};
      TW_ASSIGN_OR_RETURN(operands[0], packed.AddOperator(std::move(pad), {operands[0]}));
    }
    product->data = operands[0];
    Operator dense = *value.op;
    dense.attributes.kernel_layout = product->layout();
    TW_ASSIGN_OR_RETURN(auto sums, packed.AddOperator(std::move(dense), std::move(operands)));
    product->packed = sums;
    if (product->padded_columns() == product->columns) return sums;
    Operator slice{OpKind::kSlice, {}};
    slice.attributes.begin = {0, 0};
    slice.attributes.end = {product->rows, product->columns};
    slice.attributes.steps = {1, 1};
    return packed.AddOperator(std::move(slice), {sums});
  }

  /// Adds single numbers that loops read: each iteration would compute them again.
  static void KeepNumbers(const Schedule& s, std::vector<StageId>& kept) {
    for (const StageId reader : s.order()) {
      if (s.stage(reader).op.axes.empty()) continue;
      ForEachNode(s.stage(reader).op.body, [&](const Expr& node) {
        if (node->kind != ExprKind::kLoad || !node->args.empty()) return;
        const StageId producer = s.ProducerOf(node->buffer);
        if (producer.index >= 0) kept.push_back(producer);
      });
    }
  }

  void ScheduleStep(Schedule& s, const std::vector<Buffer>& buffers) const {
    std::vector<StageId> kept;
    for (int next : recurrence_.next) {
      kept.push_back(s.ProducerOf(BufferOf(next, buffers)));
    }
    for (const StepProduct& product : products_) {
      if (product.bytes) kept.push_back(s.ProducerOf(buffers[Index(product.data)]));
    }
    KeepNumbers(s, kept);
    InlineElementwise(s, kept);
    if (HasBytes()) SumInLanes(s, lanes_, 1, kMaxVectorsOfSums);
    const std::vector<StageId> order = s.order();
    for (const StageId id : order) {
      if (s.stage(id).attach == Schedule::Attach::kInline) continue;
      const auto product = std::ranges::find_if(products_, [&](const StepProduct& p) {
        return s.ProducerOf(buffers[Index(p.packed)]) == id;
      });
      if (product != products_.end()) {
        ScheduleProduct(s, id, *product);
      } else {
        ScheduleFlat(s, id, lanes_, serial_);
      }
    }
  }

  void ScheduleProduct(Schedule& s, StageId result, const StepProduct& product) const {
    constexpr std::int64_t kMinSharedMacs = std::int64_t{1} << 18;  // 5 µs
    constexpr std::int64_t kUnrolledDepth = 4;
    const StageId sum = s.CacheWrite(result, Scope::kLocal);
    const MatmulLoops loops = TileMatmulResult(s, result, false, product.tile, product.lanes);
    const LoopId outer = FuseAll(s, result, {loops.group, loops.rows});
    if (product.macs() >= kMinSharedMacs && target_.num_threads() > 1) {
      s.Parallel(result, outer);  // each thread reads the same weights in every step
    } else if (s.Extent(outer) > 1) {
      s.Pragma(result, outer, kAlternatingLoop, 1);
    }
    s.ComputeAt(sum, result, outer);
    TileMatmulSum(s, sum, false, product.lanes, kUnrolledDepth, product.dot());
  }

  std::vector<std::string> Layouts() const {
    std::vector<std::string> layouts;
    for (int parameter : list_.parameters()) {
      const StepProduct* product = ProductWith(parameter);
      layouts.push_back(product == nullptr ? std::string() : product->layout());
    }
    return layouts;
  }

  const Recurrence& recurrence_;
  const OperatorList& list_;
  const Target& target_;
  Target serial_;
  const std::int64_t lanes_, registers_;
  std::vector<StepProduct> products_;
  std::vector<int> numbers_;  // position of each value in the packed list
};

}  // namespace

Result<RecurrenceKernel> BuildRecurrenceKernel(const Operator& op,
                                               std::span<const TensorType> inputs,
                                               const Target& target,
                                               std::optional<std::int64_t> most_steps) {
  TW_RETURN_IF_ERROR(InferType(op, inputs));
  if (most_steps && op.attributes.recurrence->results == StepResults::kThenLastStates) {
    return Unsupported("a recurrence whose result has the last states behind the steps");
  }
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  return StepScheduler(*op.attributes.recurrence, target, features.float_lanes(),
                       features.vector_registers())
      .Run(most_steps.value_or(StepsOf(inputs)), most_steps.has_value());
}

}  // namespace tilewright
