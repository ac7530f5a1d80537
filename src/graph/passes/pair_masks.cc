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

/// Constant whose element (i, j) is `inside` for j <= i + diagonal, else `outside`.
struct Triangle {
  std::int64_t rows = 0, diagonal = 0;
  double inside = 0, outside = 0;
};

/// Returns the number of positions if the last two dimensions are pairs of them; 0 for others.
std::int64_t PairsOf(const Shape& shape) {
  const std::size_t rank = shape.size();
  if (rank < 2 || shape[rank - 1] < 2 || shape[rank - 1] != shape[rank - 2]) return 0;
  return shape[rank - 1];
}

/// Returns the triangle that a constant of pairs is, with all other dimensions 1.
std::optional<Triangle> TriangleOf(const TensorType& type, const Tensor* contents) {
  const std::int64_t rows = PairsOf(type.shape);
  if (rows == 0 || contents == nullptr || type.elements() != rows * rows) return std::nullopt;
  const auto at = [&](std::int64_t i, std::int64_t j) { return contents->At(i * rows + j); };
  Triangle found{rows, 0, at(rows - 1, 0), at(0, rows - 1)};
  if (!(found.inside != found.outside)) return std::nullopt;  // also for NaN
  // The row in which both values are states the diagonal.
  const std::int64_t row = at(0, 0) == found.inside ? 0 : rows - 1;
  std::int64_t count = 0;
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
    const Graph& source = rewriter_.source();
    for (int id = 0; id < source.size(); ++id) {
      if (is_mask_[Index(id)]) continue;
      const Node& node = At(id);
      const bool reads =
          node.kind == NodeKind::kOperator &&
          std::ranges::any_of(node.inputs, [&](int input) { return is_mask_[Index(input)]; });
      TW_RETURN_IF_ERROR(reads ? AddReader(id) : rewriter_.Copy(id));
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
    const std::vector<std::vector<int>> users = source.Users();
    for (int id = source.size() - 1; id >= 0; --id) {
      const auto& outputs = source.outputs();
      const bool others = std::ranges::any_of(users[Index(id)], [&](int user) {
        return !is_mask_[Index(user)] && !Broadcasts(At(user).op.kind);
      });
      if (others || std::ranges::find(outputs, id) != outputs.end()) is_mask_[Index(id)] = false;
    }
  }

  bool IsMask(int id) {
    const Node& node = At(id);
    const std::int64_t pairs = PairsOf(node.type.shape);
    if (pairs == 0) return false;
    if (node.kind == NodeKind::kConstant) {
      const auto triangle = TriangleOf(node.type, rewriter_.source().Contents(id));
      if (triangle) triangles_.emplace(id, *triangle);
      return triangle.has_value();
    }
    if (node.kind != NodeKind::kOperator) return false;
    const auto narrow = [&](int input) { return PairsOf(At(input).type.shape) == 0; };
    if (node.op.kind == OpKind::kBroadcastTo) return narrow(node.inputs[0]);
    const bool any =
        std::ranges::any_of(node.inputs, [&](int input) { return is_mask_[Index(input)]; });
    return any && Broadcasts(node.op.kind) && std::ranges::all_of(node.inputs, [&](int input) {
             return is_mask_[Index(input)] || narrow(input);
           });
  }

  Status AddReader(int id) {
    const Node& node = At(id);
    copies_.clear();
    prefix_ = node.name + (IsLocalName(node.name) ? "mask" : "#mask");
    std::vector<int> inputs;
    std::vector<TensorType> types;
    for (int input : node.inputs) {
      TW_ASSIGN_OR_RETURN(inputs.emplace_back(), Emit(input));
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

  /// Returns the value of a node, or one that broadcasts to it.
  Result<int> Emit(int id) {
    if (!is_mask_[Index(id)]) return rewriter_.At(id);
    if (const auto known = copies_.find(id); known != copies_.end()) return known->second;
    const Node& node = At(id);
    int made = -1;
    if (node.kind == NodeKind::kConstant) {
      TW_ASSIGN_OR_RETURN(made, EmitTriangle(node.type, triangles_.at(id)));
    } else if (node.op.kind == OpKind::kBroadcastTo) {
      made = rewriter_.At(node.inputs[0]);
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
    const std::size_t rank = type.shape.size();
    const int columns = Numbers(0, triangle.rows, rank - 1, rank);
    const int rows = Numbers(triangle.diagonal + 1, triangle.rows, rank - 2, rank);
    TW_ASSIGN_OR_RETURN(const int inside, Add({OpKind::kLess, {}}, {columns, rows}));
    if (type.dtype == kBool && triangle.inside != 0) return inside;
    return Add({OpKind::kWhere, {}},
               {inside, Scalar(type.dtype, triangle.inside), Scalar(type.dtype, triangle.outside)});
  }

  Rewriter rewriter_;
  std::vector<bool> is_mask_;  // by node
  std::map<int, Triangle> triangles_;
  std::map<int, int> copies_;  // of masks, for one reader
  /// Constants of numbers, by the first, their count, their dimension and their rank.
  std::map<std::tuple<std::int64_t, std::int64_t, std::size_t, std::size_t>, int> numbers_;
  std::string prefix_;
  int count_ = 0;
};

}  // namespace

Result<Graph> ComputePairMasks(Graph graph) { return MaskComputer(std::move(graph)).Run(); }

}  // namespace tilewright
