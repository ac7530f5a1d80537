// Kernels for any number of positions. Tensors keep the dimensions of a block's; that of the
// positions gets the extent of a row in memory, and its index goes on from block to block.

#include "src/compiler/open/position_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/base/math.h"
#include "src/compiler/open/open_program.h"
#include "src/graph/open/size_range.h"
#include "src/ir/open_loop.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Dimension of positions of a tensor of a block.
struct BlockAxis {
  std::size_t axis = 0;
  std::int64_t joined = 1;   ///< rows that are part of this dimension, outside of the positions
  std::int64_t extent = 1;   ///< of the positions
  std::int64_t element = 1;  ///< elements of one index
};

/// Finds the dimension with `rows` elements outside of it.
Result<BlockAxis> BlockAxisOf(const BufferNode& buffer, std::int64_t rows) {
  const Shape& shape = buffer.shape;
  std::int64_t outside = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t inside = buffer.elements() / (outside * shape[i]);
    if (outside == rows && shape[i] > 1) return BlockAxis{i, 1, shape[i], inside};
    const std::int64_t both = outside * shape[i];
    if (both > rows && rows % outside == 0 && shape[i] % (rows / outside) == 0) {
      const std::int64_t joined = rows / outside;
      return BlockAxis{i, joined, shape[i] / joined, inside};
    }
    outside = both;
  }
  return Unsupported("tensor " + buffer.name + " has its positions inside of other dimensions");
}

/// Tensor of an open kernel for a tensor of a block.
struct PositionTensor {
  Buffer buffer;
  BlockAxis axis;
};

Result<PositionTensor> OpenTensorOf(const BufferNode& block, const PositionParameter& parameter) {
  TW_ASSIGN_OR_RETURN(const auto axis, BlockAxisOf(block, parameter.rows.rows));
  if (parameter.rows.pitch % axis.element != 0 || parameter.begin % axis.element != 0) {
    return Unsupported("tensor " + block.name + " has rows of no whole number of positions");
  }
  Shape shape(block.shape.begin(), block.shape.begin() + static_cast<std::ptrdiff_t>(axis.axis));
  if (axis.joined > 1) shape.push_back(axis.joined);
  shape.push_back(parameter.rows.pitch / axis.element);
  shape.insert(shape.end(), block.shape.begin() + static_cast<std::ptrdiff_t>(axis.axis) + 1,
               block.shape.end());
  PositionTensor open{MakeBuffer(block.name, block.dtype, std::move(shape)), axis};
  return open;
}

/// Replaces the tensors of a block in its code.
class BlockMover {
 public:
  struct Moved {
    PositionTensor tensor;
    Expr first;  ///< index of the block's first position; null if the tensor has none
  };
  explicit BlockMover(std::map<const BufferNode*, Moved> moved) : moved_(std::move(moved)) {}

  Stmt Move(const Stmt& stmt) {
    std::vector<Stmt> body;
    for (const Stmt& part : stmt->body) body.push_back(Move(part));
    StmtNode node = *MapOwnExprs(stmt, [&](const Expr& expr) { return MoveLoads(expr); });
    if (node.buffer != nullptr && !node.indices.empty()) {
      if (const Moved* found = Find(*node.buffer)) {
        Shift(*found, node.indices);
        node.buffer = found->tensor.buffer;
      }
    }
    for (Region& region : node.regions) {
      const Moved* found = Find(*region.buffer);
      if (found == nullptr) continue;
      if (found->first && found->tensor.axis.joined > 1) MoveJoined(*found, region);
      if (found->first && found->tensor.axis.joined == 1) Shift(*found, region.min);
      region.buffer = found->tensor.buffer;
    }
    node.body = std::move(body);
    return Stmt(std::make_shared<const StmtNode>(std::move(node)));
  }
  const Status& status() const { return status_; }

 private:
  const Moved* Find(const BufferNode& buffer) const {
    const auto found = moved_.find(&buffer);
    return found == moved_.end() ? nullptr : &found->second;
  }

  Expr MoveLoads(const Expr& expr) {
    return Rewrite(expr, [&](const Expr& node) {
      if (node->kind != ExprKind::kLoad) return Expr();
      const Moved* found = Find(*node->buffer);
      if (found == nullptr) return Expr();
      std::vector<Expr> indices = node->args;
      Shift(*found, indices);
      return MakeLoad(found->tensor.buffer, std::move(indices));
    });
  }

  static void Shift(const Moved& moved, std::vector<Expr>& indices) {
    if (!moved.first) return;
    const BlockAxis& axis = moved.tensor.axis;
    const auto place = indices.begin() + static_cast<std::ptrdiff_t>(axis.axis);
    if (axis.joined == 1) {
      *place = *place + moved.first;
      return;
    }
    const Expr both = *place;
    *place = FloorMod(both, Expr(axis.extent)) + moved.first;
    indices.insert(place, FloorDiv(both, Expr(axis.extent)));
  }

  void MoveJoined(const Moved& moved, Region& region) {
    const BlockAxis& axis = moved.tensor.axis;
    const auto at = static_cast<std::ptrdiff_t>(axis.axis);
    const std::int64_t extent = region.extent[axis.axis];
    // Parts of one row, of which a loop visits as many as there are in it.
    if (extent > axis.extent || axis.extent % extent != 0) {
      status_ = Unsupported("tensor " + region.buffer->name + " has copies of several rows");
      return;
    }
    Shift(moved, region.min);
    region.extent.insert(region.extent.begin() + at, 1);
  }

  std::map<const BufferNode*, Moved> moved_;
  Status status_;
};

/// Walks over the dimensions of a tensor around and inside of its positions.
class RowLoops {
 public:
  explicit RowLoops(const PositionTensor& tensor)
      : shape_(tensor.buffer->shape), axis_(tensor.axis.axis + (tensor.axis.joined > 1 ? 1 : 0)) {}

  /// Index of the tensor at position `at`, given by all other dimensions.
  std::vector<Expr> Index(const Expr& at) {
    std::vector<Expr> index;
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      if (vars_.size() <= i) vars_.push_back(i == axis_ ? Expr() : MakeVar("d"));
      index.push_back(i == axis_ ? at : vars_[i]);
    }
    return index;
  }
  /// Number of the row, and of the element inside of the position. Call them after Index.
  Expr Row() const { return Number(0, axis_); }
  Expr Element() const { return Number(axis_ + 1, shape_.size()); }

  /// Puts the loops around a statement; `positions` adds those over positions.
  template <typename Positions>
  Stmt Around(Stmt body, const Positions& positions) const {
    for (std::size_t i = shape_.size(); i-- > axis_ + 1;) {
      const bool vector = i + 1 == shape_.size() && shape_[i] > 1 && shape_[i] <= kLanes &&
                          (shape_[i] & (shape_[i] - 1)) == 0;
      body = MakeFor(vars_[i], shape_[i], vector ? LoopKind::kVectorized : LoopKind::kSerial,
                     std::move(body));
    }
    body = positions(std::move(body));
    for (std::size_t i = axis_; i-- > 0;) {
      if (shape_[i] > 1) {
        body = MakeFor(vars_[i], shape_[i], LoopKind::kSerial, std::move(body));
      } else {
        body = MakeLet(vars_[i], Expr(0), 1, std::move(body));
      }
    }
    return body;
  }
  bool IsInnermost() const { return axis_ + 1 == shape_.size(); }
  std::int64_t extent() const { return shape_[axis_]; }
  static constexpr std::int64_t kLanes = 16;

 private:
  Expr Number(std::size_t begin, std::size_t end) const {
    Expr number(0);
    for (std::size_t i = begin; i < end; ++i) number = number * Expr(shape_[i]) + vars_[i];
    return number;
  }

  const Shape& shape_;
  std::size_t axis_;
  std::vector<Expr> vars_;
};

Expr CountOf(const PositionCount& count, const Expr& size) {
  Expr value = size * Expr(count.times) + Expr(count.plus);
  if (count.divide != 1) value = FloorDiv(value, Expr(count.divide));
  return value * Expr(count.factor) + Expr(count.offset);
}

/// Fills a run of elements of each row, from index `first` of the dimension of positions.
Stmt FillRun(const PositionTensor& tensor, const Expr& first, std::int64_t count, double value) {
  RowLoops loops(tensor);
  const Expr position = MakeVar("edge");
  Stmt body = MakeStore(tensor.buffer, loops.Index(position + first),
                        MakeConst(tensor.buffer->dtype, value));
  return loops.Around(std::move(body), [&](Stmt inside) {
    return MakeFor(position, count, LoopKind::kSerial, std::move(inside));
  });
}

/// Fills the elements around `count` positions.
Status AddFill(const PositionTensor& tensor, const PositionRows& rows, const PositionFill& fill,
               const Expr& count, std::vector<Stmt>& body) {
  const std::int64_t unit = tensor.axis.element;
  if (fill.before % unit != 0 || fill.after % unit != 0 || rows.element % unit != 0) {
    return Unsupported("tensor " + tensor.buffer->name + " is padded by parts of positions");
  }
  const std::int64_t first = rows.begin / unit, before = fill.before / unit;
  if (before > 0) body.push_back(FillRun(tensor, Expr(first - before), before, fill.value));
  if (fill.after > 0) {
    const Expr end = count * Expr(rows.element / unit) + Expr(first);
    body.push_back(FillRun(tensor, end, fill.after / unit, fill.value));
  }
  return Status();
}

/// Copies all positions to or from a tensor whose rows have no room around them.
Stmt CopyRows(const PositionTensor& tensor, const PositionRows& rows, const Buffer& compact,
              bool to_compact, const Expr& count) {
  const std::int64_t unit = tensor.axis.element, first = rows.begin / unit;
  const Expr all = count * Expr(rows.element / unit);
  const auto most = compact->elements();
  RowLoops loops(tensor);
  const Expr position = MakeVar("position");
  const auto copy = [&](const Expr& at) {
    std::vector<Expr> index = loops.Index(at + Expr(first));
    Expr flat = (loops.Row() * all + at) * Expr(unit) + loops.Element();
    if (to_compact) {
      return MakeStore(compact, {std::move(flat)}, MakeLoad(tensor.buffer, std::move(index)));
    }
    return MakeStore(tensor.buffer, std::move(index), MakeLoad(compact, {std::move(flat)}));
  };
  if (!loops.IsInnermost()) {
    Stmt body = copy(position);
    return loops.Around(std::move(body), [&](Stmt inside) {
      return MakeOpenFor(position, all, most, LoopKind::kSerial, std::move(inside));
    });
  }
  // Runs of whole vectors, then the rest.
  const Expr lane = MakeVar("lane"), run = MakeVar("run");
  const Expr lanes(RowLoops::kLanes), runs = FloorDiv(all, lanes);
  Stmt vectors = MakeFor(lane, RowLoops::kLanes, LoopKind::kVectorized, copy(run * lanes + lane));
  vectors =
      MakeOpenFor(run, runs, most / RowLoops::kLanes + 1, LoopKind::kSerial, std::move(vectors));
  vectors = MakeIf(Lt(Expr(0), runs), std::move(vectors));
  const Expr rest = all - runs * lanes;
  Stmt single = MakeOpenFor(position, rest, RowLoops::kLanes + 1, LoopKind::kSerial,
                            copy(runs * lanes + position));
  single = MakeIf(Lt(Expr(0), rest), std::move(single));
  return loops.Around(MakeBlock({std::move(vectors), std::move(single)}),
                      [](Stmt inside) { return inside; });
}

/// Builder of a kernel for any number of positions.
class PositionBuilder {
 public:
  PositionBuilder(const PositionKernel& kernel, std::vector<int>& order)
      : kernel_(kernel), order_(order) {}

  Result<Program> Run() {
    const Program& block = *kernel_.blocks[0].program;
    if (!LibraryCallsOf(block.body).empty()) return Unsupported("it calls a library");
    for (std::size_t i = 0; i < block.parameters.size(); ++i) {
      PositionTensor tensor{block.parameters[i], {}};
      if (kernel_.parameters[i].open) {
        TW_ASSIGN_OR_RETURN(tensor, OpenTensorOf(*block.parameters[i], kernel_.parameters[i]));
      }
      tensors_.push_back(std::move(tensor));
    }
    const Expr size = MakeVar("size"), count = MakeVar("positions");
    std::vector<Stmt> body;
    std::vector<Buffer> compact_inputs, compact_outputs;
    for (const PositionCopy& copy : kernel_.inputs) {
      const PositionTensor& tensor = tensors_[copy.parameter];
      const PositionRows& rows = kernel_.parameters[copy.parameter].rows;
      compact_inputs.push_back(CompactOf(tensor, rows));
      const Expr own = CountOf(copy.count, size);
      body.push_back(CopyRows(tensor, rows, compact_inputs.back(), /*to_compact=*/false, own));
      TW_RETURN_IF_ERROR(AddFill(tensor, rows, copy.fill, own, body));
    }
    std::vector<Expr> counts;
    TW_ASSIGN_OR_RETURN(auto blocks, Blocks(0, count, counts));
    body.push_back(std::move(blocks));
    const PositionTensor& result = tensors_.back();
    const PositionRows& rows = kernel_.parameters.back().rows;
    TW_RETURN_IF_ERROR(AddFill(result, rows, kernel_.fill, count, body));
    for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) {
      compact_outputs.push_back(CompactOf(result, rows));
      body.push_back(CopyRows(result, rows, compact_outputs.back(), /*to_compact=*/true, count));
    }
    const Buffer given = MakeBuffer("size", kInt64, {1});
    Program open;
    open.name = block.name;
    open.body = MakeLet(
        size, MakeLoad(given, {Expr(0)}), kMaxOpenSize + 1,
        MakeLet(count, CountOf(kernel_.count, size), kernel_.most + 1, MakeBlock(std::move(body))));
    SetParameters(given, compact_inputs, compact_outputs, open);
    return open;
  }

 private:
  static Buffer CompactOf(const PositionTensor& tensor, const PositionRows& rows) {
    return MakeBuffer("compact", tensor.buffer->dtype, {rows.rows * rows.pitch});
  }

  bool IsWritten(std::size_t parameter) const {
    return std::ranges::any_of(
        kernel_.inputs, [&](const PositionCopy& copy) { return copy.parameter == parameter; });
  }

  void SetParameters(const Buffer& size, const std::vector<Buffer>& inputs,
                     const std::vector<Buffer>& outputs, Program& open) {
    const auto add = [&](const Buffer& buffer, int number) {
      open.parameters.push_back(buffer);
      order_.push_back(number);
    };
    order_.clear();
    add(size, -1);
    const std::size_t operands = tensors_.size() - 1;
    for (std::size_t i = 0; i < operands; ++i) {
      if (!IsWritten(i)) add(tensors_[i].buffer, static_cast<int>(i));
    }
    int given = -2;
    for (const Buffer& input : inputs) add(input, given--);
    const std::size_t read = open.parameters.size();
    for (std::size_t i = 0; i < operands; ++i) {
      if (IsWritten(i)) add(tensors_[i].buffer, static_cast<int>(i));
    }
    for (const Buffer& output : outputs) add(output, given--);
    add(tensors_.back().buffer, static_cast<int>(operands));
    open.output_count = static_cast<int>(open.parameters.size() - read);
  }

  /// Loops over blocks of each size, from that at `number` on. done: positions of larger blocks.
  /// counts: of larger blocks.
  Result<Stmt> Blocks(std::size_t number, const Expr& left, std::vector<Expr>& counts) {
    const PositionBlock& block = kernel_.blocks[number];
    const bool last = number + 1 == kernel_.blocks.size();
    const std::int64_t least = kernel_.blocks.back().positions;
    std::int64_t most = CeilDiv(kernel_.most, block.positions);
    if (number > 0)
      most = std::min(most, CeilDiv(kernel_.blocks[number - 1].positions, block.positions));
    const Expr count = MakeVar("blocks");
    TW_ASSIGN_OR_RETURN(auto loop, Loop(block, counts, count, most));
    Stmt both = MakeIf(Lt(Expr(0), count), std::move(loop));
    if (!last) {
      counts.push_back(count);
      const Expr rest = Max(left - count * Expr(block.positions), Expr(0));
      const Expr known = MakeVar("rest");
      TW_ASSIGN_OR_RETURN(auto few, Blocks(number + 1, known, counts));
      few = MakeLet(known, rest, block.positions + 1, MakeIf(Lt(Expr(0), known), std::move(few)));
      both = MakeBlock({std::move(both), std::move(few)});
    }
    return MakeLet(count, FloorDiv(left + Expr(least - 1), Expr(block.positions)), most + 1,
                   std::move(both));
  }

  /// Loop over blocks of one kernel; `before`: numbers of larger blocks in front of them.
  Result<Stmt> Loop(const PositionBlock& block, const std::vector<Expr>& before, const Expr& count,
                    std::int64_t most) {
    const Expr number = MakeVar("block");
    std::map<const BufferNode*, BlockMover::Moved> moved;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Buffer& own = block.program->parameters[i];
      const Buffer& largest = kernel_.blocks[0].program->parameters[i];
      PositionTensor tensor = tensors_[i];
      Expr first;
      if (!kernel_.parameters[i].open && own->shape != largest->shape) {
        return Unsupported("tensor " + own->name + " has another layout in a small block");
      }
      if (kernel_.parameters[i].open) {
        TW_ASSIGN_OR_RETURN(tensor.axis, BlockAxisOf(*own, kernel_.parameters[i].rows.rows));
        if (!Alike(*own, *largest, tensor.axis, tensors_[i].axis)) {
          return Unsupported("tensor " + own->name + " has other dimensions in a small block");
        }
        const std::int64_t element = tensor.axis.element;
        first =
            number * Expr(block.steps[i] / element) + Expr(kernel_.parameters[i].begin / element);
        for (std::size_t b = 0; b < before.size(); ++b) {
          first = first + before[b] * Expr(kernel_.blocks[b].steps[i] / element);
        }
      }
      moved.emplace(own.get(), BlockMover::Moved{std::move(tensor), std::move(first)});
    }
    BlockMover mover(std::move(moved));
    BlockLoop loop;
    loop.number = number;
    loop.count = count;
    loop.most = std::max<std::int64_t>(most, 1);
    loop.parallel = kernel_.parallel;
    loop.blocks_innermost = kernel_.blocks_innermost;
    Stmt made = LoopOverBlocks({mover.Move(block.program->body)}, loop,
                               [](std::vector<Stmt> inside) { return inside.front(); });
    TW_RETURN_IF_ERROR(mover.status());
    return made;
  }

  /// Returns true if a tensor of a small block differs from the large one's in the positions only.
  static bool Alike(const BufferNode& own, const BufferNode& largest, const BlockAxis& axis,
                    const BlockAxis& known) {
    if (own.shape.size() != largest.shape.size() || axis.axis != known.axis) return false;
    Shape shape = own.shape;
    shape[axis.axis] = largest.shape[axis.axis];  // windows are no multiples of each other
    return shape == largest.shape && axis.joined == known.joined;
  }

  const PositionKernel& kernel_;
  std::vector<int>& order_;
  std::vector<PositionTensor> tensors_;
};

}  // namespace

Stmt WithPositions(const PositionCount& count, const Expr& positions, std::int64_t most,
                   const Buffer& size, Stmt body) {
  const Expr given = MakeVar("size");
  return MakeLet(given, MakeLoad(size, {Expr(0)}), kMaxOpenSize + 1,
                 MakeLet(positions, CountOf(count, given), most + 1, std::move(body)));
}

Result<Program> MakePositionProgram(const PositionKernel& kernel, std::vector<int>& order) {
  return PositionBuilder(kernel, order).Run();
}

}  // namespace tilewright
