// Masks of pairs of positions, made from values of single positions.
#include "src/graph/passes/pair_masks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/graph/ir/rewrite.h"
#include "src/tensor/operator.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Constant whose element (i, j) is `inside` for j <= i + diagonal, else `outside`; with one value,
/// all elements are equal.
struct Triangle {
  std::int64_t rows = 0, diagonal = 0;
  double inside = 0, outside = 0;
};

/// Returns the number of positions if the last two dimensions are pairs of them; 0 for others.
std::int64_t MaskPairsOf(const Shape& shape) {
  const std::size_t rank = shape.size();
  if (rank < 2 || shape[rank - 1] < 2 || shape[rank - 1] != shape[rank - 2]) return 0;
  return shape[rank - 1];
}

/// Returns the triangle that a constant of pairs is, with all other dimensions 1.
std::optional<Triangle> TriangleOf(const Graph& graph, int id) {
  const TensorType& type = graph.node(id).type;
  const Tensor* contents = graph.Contents(id);
  const std::int64_t rows = MaskPairsOf(type.shape);
  if (rows == 0 || type.elements() != rows * rows) return std::nullopt;
  if (const double* fill = graph.Fill(id)) return Triangle{rows, 0, *fill, *fill};
  if (contents == nullptr) return std::nullopt;
  const auto at = [&](std::int64_t i, std::int64_t j) { return contents->At(i * rows + j); };
  Triangle found{rows, 0, at(rows - 1, 0), at(0, rows - 1)};
  // The row in which both values are states the diagonal.
  const std::int64_t row = at(0, 0) == found.inside ? 0 : rows - 1;
  std::int64_t count = 0;  // NaN equals nothing
  while (count < rows && at(row, count) == found.inside) ++count;
  found.diagonal = count - 1 - row;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < rows; ++j) {
      const bool inside = j <= i + found.diagonal;
      if (at(i, j) != (inside ? found.inside : found.outside)) return std::nullopt;
    }
  }
  return found;
}

bool Broadcasts(OpKind kind) { return IsElementwise(kind) || IsComparisonOrSelect(kind); }

class MaskComputer {
 public:
  explicit MaskComputer(Graph graph) : rewriter_(std::move(graph)) {}

  Result<Graph> Run() {
    FindMasks();
    TW_RETURN_IF_ERROR(EmitConstantMasks());
    for (int id = 0; id < rewriter_.source().size(); ++id) {
      if (is_mask_[Index(id)]) {
        TW_RETURN_IF_ERROR(EmitForReaders(id));
      } else if (rewriter_.At(id) < 0) {
        TW_RETURN_IF_ERROR(ReadsMasks(id) ? AddReader(id) : rewriter_.Copy(id));
      }
    }
    return rewriter_.Finish();
  }

 private:
  static std::size_t Index(int id) { return static_cast<std::size_t>(id); }
  const Node& At(int id) const { return rewriter_.source().node(id); }

  /// Finds the masks that only operators with broadcasting read.
  void FindMasks() {
    const Graph& source = rewriter_.source();
    is_mask_.assign(source.nodes().size(), false);
    for (int id = 0; id < source.size(); ++id) is_mask_[Index(id)] = IsMask(id);
    users_ = source.Users();
    for (int id = source.size() - 1; id >= 0; --id) {
      const auto& outputs = source.outputs();
      const bool others = std::ranges::any_of(users_[Index(id)], [&](int user) {
        return !is_mask_[Index(user)] && !Broadcasts(At(user).op.kind);
      });
      if (others || std::ranges::find(outputs, id) != outputs.end()) is_mask_[Index(id)] = false;
    }
  }

  /// Returns true for a reshape of one mask of pairs to another one of more or fewer dimensions.
  bool MovesNothing(const Node& node) const {
    if (node.op.kind != OpKind::kReshape && node.op.kind != OpKind::kIdentity) return false;
    const std::int64_t pairs = MaskPairsOf(node.type.shape);
    return MaskPairsOf(At(node.inputs[0]).type.shape) == pairs &&
           node.type.elements() == pairs * pairs;
  }

  bool IsMask(int id) {
    const Node& node = At(id);
    const std::int64_t pairs = MaskPairsOf(node.type.shape);
    if (pairs == 0) return false;
    if (node.kind == NodeKind::kConstant) {
      const auto triangle = TriangleOf(rewriter_.source(), id);
      if (triangle) triangles_.emplace(id, *triangle);
      return triangle.has_value();
    }
    if (node.kind != NodeKind::kOperator) return false;
    const auto narrow = [&](int input) { return MaskPairsOf(At(input).type.shape) == 0; };
    if (node.op.kind == OpKind::kBroadcastTo) return narrow(node.inputs[0]);
    if (MovesNothing(node)) return is_mask_[Index(node.inputs[0])];
    const bool any =
        std::ranges::any_of(node.inputs, [&](int input) { return is_mask_[Index(input)]; });
    return any && Broadcasts(node.op.kind) && std::ranges::all_of(node.inputs, [&](int input) {
             return is_mask_[Index(input)] || narrow(input);
           });
  }

  bool ReadsMasks(int id) const {
    return At(id).kind == NodeKind::kOperator &&
           std::ranges::any_of(At(id).inputs, [&](int input) { return is_mask_[Index(input)]; });
  }

  /// Returns true for a mask that is made of constants alone.
  bool IsConstantMask(int id) const {
    const auto constant = [&](int input) {
      return At(input).kind == NodeKind::kConstant || IsConstantMask(input);
    };
    return is_mask_[Index(id)] &&
           (At(id).kind == NodeKind::kConstant || std::ranges::all_of(At(id).inputs, constant));
  }

  /// Adds the masks made of constants before all operators, so that groups of operators that begin
  /// before a reader can include it.
  Status EmitConstantMasks() {
    const Graph& source = rewriter_.source();
    for (int id : source.inputs()) TW_RETURN_IF_ERROR(rewriter_.Copy(id));
    for (int id = 0; id < source.size(); ++id) {
      if (IsConstantMask(id)) TW_RETURN_IF_ERROR(EmitForReaders(id));
    }
    return Status();
  }

  /// Adds the masks of all operators that read `id` and are no masks, once.
  Status EmitForReaders(int id) {
    for (int reader : users_[Index(id)]) {
      if (is_mask_[Index(reader)] || made_.contains({reader, id})) continue;
      BeginReader(reader);
      TW_ASSIGN_OR_RETURN(const int made, Emit(id));
      made_[{reader, id}] = made;
    }
    return Status();
  }

  void BeginReader(int id) {
    copies_.clear();
    rank_ = At(id).type.shape.size();
    prefix_ = At(id).name + (IsLocalName(At(id).name) ? "mask" : "#mask");
  }

  Status AddReader(int id) {
    const Node& node = At(id);
    BeginReader(id);
    std::vector<int> inputs;
    std::vector<TensorType> types;
    for (int input : node.inputs) {
      const auto ready = made_.find({id, input});
      inputs.push_back(ready != made_.end() ? ready->second : rewriter_.At(input));
      types.push_back(rewriter_.result().node(inputs.back()).type);
    }
    TW_ASSIGN_OR_RETURN(const TensorType type, InferType(node.op, types));
    if (type == node.type) {
      TW_ASSIGN_OR_RETURN(const int made, rewriter_.CopyAs(id, node.op, std::move(inputs)));
      rewriter_.Map(id, made);
      return Status();
    }
    TW_ASSIGN_OR_RETURN(const int narrow, Add(node.op, std::move(inputs)));
    Operator repeat{OpKind::kBroadcastTo, {}};
    repeat.attributes.new_shape = node.type.shape;
    TW_ASSIGN_OR_RETURN(const int made, rewriter_.CopyAs(id, std::move(repeat), {narrow}));
    rewriter_.Map(id, made);
    return Status();
  }

  Result<int> Add(Operator op, std::vector<int> inputs) {
    const std::string name = prefix_ + std::to_string(count_++);
    return rewriter_.result().AddOperator(name, std::move(op), std::move(inputs));
  }

  /// Returns a value without its first dimensions of one element that the reader has not.
  Result<int> WithRankOfReader(int value) {
    const Shape& shape = rewriter_.result().node(value).type.shape;
    if (shape.size() <= rank_) return value;
    const auto kept = shape.end() - static_cast<std::ptrdiff_t>(rank_);
    if (std::any_of(shape.begin(), kept, [](auto extent) { return extent != 1; })) return value;
    Operator reshape{OpKind::kReshape, {}};
    reshape.attributes.new_shape.assign(kept, shape.end());
    return Add(std::move(reshape), {value});
  }

  /// Returns the value of a node, or one that broadcasts to it, for the current reader.
  Result<int> Emit(int id) {
    if (!is_mask_[Index(id)]) {
      if (rewriter_.At(id) < 0) TW_RETURN_IF_ERROR(rewriter_.Copy(id));  // a constant
      return WithRankOfReader(rewriter_.At(id));
    }
    if (const auto known = copies_.find(id); known != copies_.end()) return known->second;
    const Node& node = At(id);
    int made = -1;
    if (node.kind == NodeKind::kConstant) {
      TW_ASSIGN_OR_RETURN(made, EmitTriangle(node.type, triangles_.at(id)));
    } else if (node.op.kind == OpKind::kBroadcastTo) {
      TW_ASSIGN_OR_RETURN(made, Emit(node.inputs[0]));
    } else if (MovesNothing(node)) {
      TW_ASSIGN_OR_RETURN(made, Emit(node.inputs[0]));
    } else {
      std::vector<int> inputs;
      for (int input : node.inputs) {
        TW_ASSIGN_OR_RETURN(inputs.emplace_back(), Emit(input));
      }
      TW_ASSIGN_OR_RETURN(made, Add(node.op, std::move(inputs)));
    }
    copies_[id] = made;
    return made;
  }

  /// Adds the numbers from `first` on, along dimension `axis` of a value with this rank.
  int Numbers(std::int64_t first, std::int64_t count, std::size_t axis, std::size_t rank) {
    const auto [known, added] = numbers_.try_emplace({first, count, axis, rank}, -1);
    if (!added) return known->second;
    Shape shape(rank, 1);
    shape[axis] = count;
    Tensor numbers(TensorType{std::move(shape), kInt32});
    for (std::int64_t i = 0; i < count; ++i) numbers.Set(i, static_cast<double>(first + i));
    const std::string name = prefix_ + std::to_string(count_++);
    known->second = rewriter_.result().AddConstant(name, std::move(numbers));
    return known->second;
  }
  int Scalar(DataType dtype, double value) {
    Tensor contents(TensorType{{1}, dtype});
    contents.Set(0, value);
    const std::string name = prefix_ + std::to_string(count_++);
    return rewriter_.result().AddConstant(name, std::move(contents));
  }

  Result<int> EmitTriangle(const TensorType& type, const Triangle& triangle) {
    if (triangle.inside == triangle.outside) return Scalar(type.dtype, triangle.inside);
    const std::size_t rank = std::min(type.shape.size(), std::max<std::size_t>(rank_, 2));
    const int columns = Numbers(0, triangle.rows, rank - 1, rank);
    const int rows = Numbers(triangle.diagonal + 1, triangle.rows, rank - 2, rank);
    TW_ASSIGN_OR_RETURN(const int inside, Add({OpKind::kLess, {}}, {columns, rows}));
    if (type.dtype == kBool && triangle.inside != 0) return inside;
    return Add({OpKind::kWhere, {}},
               {inside, Scalar(type.dtype, triangle.inside), Scalar(type.dtype, triangle.outside)});
  }

  Rewriter rewriter_;
  std::vector<bool> is_mask_;  // by node
  std::vector<std::vector<int>> users_;
  std::map<int, Triangle> triangles_;
  std::map<int, int> copies_;                // of masks, for one reader
  std::map<std::pair<int, int>, int> made_;  // masks, by reader and mask of the source
  /// Constants of numbers, by the first, their count, their dimension and their rank.
  std::map<std::tuple<std::int64_t, std::int64_t, std::size_t, std::size_t>, int> numbers_;
  std::size_t rank_ = 0;  // of the reader
  std::string prefix_;
  int count_ = 0;
};

}  // namespace

Result<Graph> ComputePairMasks(Graph graph) { return MaskComputer(std::move(graph)).Run(); }

}  // namespace tilewright
