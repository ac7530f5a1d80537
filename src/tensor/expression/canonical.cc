// Canonical form of all expressions of one computation. Names become numbers. Everything that is no
// dimension of external memory is ordered: inputs and intermediate stages by their first read,
// reduced axes and axes of intermediate stages by the loads that use them first, operands that
// commute by the largest tensor they read and then by a hash. That hash depends on no names and no
// order of axes. An axis starts as its extent (of the result and of inputs: its position), and all
// its uses in the stage are mixed in twice. If two are still equal, they are interchangeable, or
// the text's order decides.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "src/base/hash.h"
#include "src/tensor/expression/internal.h"

namespace tilewright {
namespace {

using Hash = std::uint64_t;

Hash Mixed(Hash a, Hash b) { return Mix64(a * 0x9E3779B97F4A7C15ULL + b + 1); }

bool CommutesAlways(const ExpressionNode& n) {
  switch (n.kind) {
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return true;
    default:
      return false;
  }
}

/// Returns true for a sum, or a product with a number, that is rebuilt from its linear form.
bool IsLinear(const ExpressionStage& stage, int i) {
  const ExpressionNode& n = stage.nodes[static_cast<std::size_t>(i)];
  const bool sum = n.kind == ExprKind::kAdd || n.kind == ExprKind::kSub || n.kind == ExprKind::kMul;
  if (!sum || n.dtype != kInt64) return false;
  const LinearIndex64 linear = LinearOf(stage, i);
  return linear.exact && (linear.terms.size() != 1 || linear.terms.begin()->second.node != i);
}

class Canonizer {
 public:
  explicit Canonizer(const Expression& source) : source_(source) {
    // Inputs start as their types; their uses distinguish them in the second round.
    uses_.assign(source.inputs.size(), 0);
    for (int round = 0; round < 2; ++round) {
      const std::vector<Hash> before = std::exchange(uses_, std::vector<Hash>(uses_.size(), 0));
      tensors_.clear();
      stages_.clear();
      for (std::size_t i = 0; i < source.inputs.size(); ++i) {
        const ExpressionInput& input = source.inputs[i];
        std::vector<Hash> dims;
        for (std::size_t d = 0; d < input.type.shape.size(); ++d) dims.push_back(d + 1);
        const Hash type = Mixed(Fnv1a64(input.type.ToString()), input.constant ? 1 : 0);
        tensors_.push_back({Mixed(type, before[i]), std::move(dims)});
      }
      for (std::size_t i = 0; i < source.stages.size(); ++i) AddStage(i);
    }
  }

  CanonicalExpression Run() {
    numbers_.assign(tensors_.size(), -1);
    Visit(static_cast<std::int64_t>(tensors_.size()) - 1);
    CanonicalExpression result;
    for (std::int64_t tensor : read_inputs_) {
      ExpressionInput input = source_.inputs[static_cast<std::size_t>(tensor)];
      input.name = fmt::format("x{}", result.expression.inputs.size());
      numbers_[static_cast<std::size_t>(tensor)] =
          static_cast<std::int64_t>(result.expression.inputs.size());
      result.expression.inputs.push_back(std::move(input));
      result.inputs.push_back(static_cast<int>(tensor));
    }
    OrderAxes();
    for (std::int64_t tensor : read_stages_) {
      numbers_[static_cast<std::size_t>(tensor)] = static_cast<std::int64_t>(
          result.expression.inputs.size() + result.expression.stages.size());
      Rebuild(tensor, result.expression);
    }
    return result;
  }

 private:
  struct TensorHash {
    Hash hash = 0;
    std::vector<Hash> dims;
  };
  struct StageHashes {
    std::vector<Hash> axes, nodes;
    std::vector<double> largest;  // elements of the largest tensor under a node
    /// Of the axes of the new stage, the old ones.
    std::vector<std::int64_t> spatial, reduced;
  };

  const ExpressionStage& StageOf(std::int64_t tensor) const {
    return source_.stages[static_cast<std::size_t>(tensor) - source_.inputs.size()];
  }
  StageHashes& HashesOf(std::int64_t tensor) {
    return stages_[static_cast<std::size_t>(tensor) - source_.inputs.size()];
  }
  bool IsInput(std::int64_t tensor) const {
    return static_cast<std::size_t>(tensor) < source_.inputs.size();
  }

  // --- hashes --------------------------------------------------------------------------------
  void AddStage(std::size_t number) {
    const ExpressionStage& stage = source_.stages[number];
    const bool result = number + 1 == source_.stages.size();
    StageHashes hashes;
    for (std::size_t i = 0; i < stage.axes.size(); ++i) {
      hashes.axes.push_back(Mixed(result ? i + 1 : 0, static_cast<Hash>(stage.axes[i].extent)));
    }
    for (const ExpressionAxis& axis : stage.reduce_axes) {
      hashes.axes.push_back(Mixed(1000, static_cast<Hash>(axis.extent)));
    }
    // The order of reduced axes decides which position is the first.
    if (stage.reduction >= ExpressionReduction::kArgMax) {
      for (std::size_t i = 0; i < stage.reduce_axes.size(); ++i) {
        hashes.axes[stage.axes.size() + i] = Mixed(hashes.axes[stage.axes.size() + i], i);
      }
    }
    constexpr int kRounds = 2;
    for (int round = 0; round <= kRounds; ++round) {
      hashes.nodes.assign(stage.nodes.size(), 0);
      for (std::size_t i = 0; i < stage.nodes.size(); ++i) {
        hashes.nodes[i] = HashOfNode(stage, hashes, static_cast<int>(i));
      }
      if (round == kRounds) break;
      std::vector<Hash> uses(hashes.axes.size(), 0);
      Spread(stage, hashes, static_cast<int>(stage.nodes.size()) - 1, 1, uses);
      for (std::size_t i = 0; i < uses.size(); ++i) {
        hashes.axes[i] = Mixed(hashes.axes[i], uses[i]);
      }
    }
    for (std::size_t i = 0; i < stage.nodes.size(); ++i) {
      const ExpressionNode& n = stage.nodes[i];
      double largest = 0;
      for (int arg : n.args) {
        largest = std::max(largest, hashes.largest[static_cast<std::size_t>(arg)]);
      }
      if (n.kind == ExprKind::kLoad) {
        largest = std::max(largest, static_cast<double>(source_.TypeOf(n.integer).elements()));
      }
      hashes.largest.push_back(largest);
    }
    TensorHash tensor;
    tensor.hash = Mixed(hashes.nodes.back(), static_cast<Hash>(stage.reduction));
    tensor.dims.assign(hashes.axes.begin(),
                       hashes.axes.begin() + static_cast<std::ptrdiff_t>(stage.axes.size()));
    tensors_.push_back(std::move(tensor));
    stages_.push_back(std::move(hashes));
  }

  static Hash HashOfKind(ExprKind kind, DataType dtype, std::int64_t integer,
                         std::string_view function) {
    const Hash hash = Mixed(static_cast<Hash>(kind), Fnv1a64(DataTypeName(dtype)));
    return Mixed(Mixed(hash, static_cast<Hash>(integer)), Fnv1a64(function));
  }
  static Hash HashOfInteger(std::int64_t value) {
    return HashOfKind(ExprKind::kInt, kInt64, value, "");
  }
  static constexpr Hash kSum = 2000;  // start of the hash of a linear form
  /// Returns the hash of a linear form that is one term.
  static Hash HashOfTerm(Hash node, std::int64_t coefficient) {
    return Mixed(kSum, 0) + Mixed(node, static_cast<Hash>(coefficient));
  }
  /// Returns the node that a linear form equals; -1 if it has more.
  static int TermAlone(const LinearIndex64& linear) {
    const bool alone = linear.terms.size() == 1 && linear.constant == 0 &&
                       linear.terms.begin()->second.coefficient == 1;
    return alone ? linear.terms.begin()->second.node : -1;
  }

  Hash HashOfNode(const ExpressionStage& stage, const StageHashes& hashes, int i) const {
    const ExpressionNode& n = stage.nodes[static_cast<std::size_t>(i)];
    const auto of = [&](int node) { return hashes.nodes[static_cast<std::size_t>(node)]; };
    if (IsLinear(stage, i)) {
      const LinearIndex64 linear = LinearOf(stage, i);
      if (linear.terms.empty()) return HashOfInteger(linear.constant);
      if (const int alone = TermAlone(linear); alone >= 0) {
        const bool wide = stage.nodes[static_cast<std::size_t>(alone)].dtype == kInt64;
        return wide ? of(alone) : Mixed(HashOfKind(ExprKind::kCast, kInt64, 0, ""), of(alone));
      }
      Hash sum = Mixed(kSum, static_cast<Hash>(linear.constant));
      for (const auto& [text, term] : linear.terms) {
        sum += Mixed(of(term.node), static_cast<Hash>(term.coefficient));
      }
      return sum;
    }
    if (n.kind == ExprKind::kInt && n.dtype == kInt64) return HashOfInteger(n.integer);
    Hash hash = Mixed(static_cast<Hash>(n.kind), Fnv1a64(DataTypeName(n.dtype)));
    if (n.kind == ExprKind::kVar)
      return Mixed(hash, hashes.axes[static_cast<std::size_t>(n.integer)]);
    if (n.kind == ExprKind::kLoad) {
      const TensorHash& tensor = tensors_[static_cast<std::size_t>(n.integer)];
      Hash sum = 0;
      for (std::size_t d = 0; d < n.args.size(); ++d) sum += Mixed(tensor.dims[d], of(n.args[d]));
      return Mixed(Mixed(hash, tensor.hash), sum);
    }
    hash = HashOfKind(n.kind, n.dtype, n.integer, n.function);
    if (n.kind == ExprKind::kFloat) {
      Hash bits = 0;
      std::memcpy(&bits, &n.number, sizeof bits);
      return Mixed(hash, bits);
    }
    if (CommutesAlways(n)) return Mixed(hash, of(n.args[0]) + of(n.args[1]));
    for (int arg : n.args) hash = Mixed(hash, of(arg));
    return hash;
  }

  /// Adds the context of its uses to each axis.
  void Spread(const ExpressionStage& stage, const StageHashes& hashes, int i, Hash around,
              std::vector<Hash>& uses) {
    const ExpressionNode& n = stage.nodes[static_cast<std::size_t>(i)];
    if (n.kind == ExprKind::kVar) {
      uses[static_cast<std::size_t>(n.integer)] += around;
      return;
    }
    const Hash here = Mixed(around, hashes.nodes[static_cast<std::size_t>(i)]);
    if (IsLinear(stage, i)) {
      const LinearIndex64 linear = LinearOf(stage, i);
      if (const int alone = TermAlone(linear); alone >= 0) {
        return Spread(stage, hashes, alone, around, uses);
      }
      for (const auto& [text, term] : linear.terms) {
        Spread(stage, hashes, term.node, Mixed(here, static_cast<Hash>(term.coefficient)), uses);
      }
      return;
    }
    if (n.kind == ExprKind::kLoad && IsInput(n.integer)) {
      uses_[static_cast<std::size_t>(n.integer)] += here;
    }
    for (std::size_t a = 0; a < n.args.size(); ++a) {
      Hash slot = CommutesAlways(n) ? 0 : a + 1;
      if (n.kind == ExprKind::kLoad) slot = tensors_[static_cast<std::size_t>(n.integer)].dims[a];
      Spread(stage, hashes, n.args[a], Mixed(here, slot), uses);
    }
  }

  /// Returns the arguments in the order of the text.
  std::vector<int> OrderedArgs(std::int64_t tensor, const ExpressionNode& n) {
    std::vector<int> args = n.args;
    if (!CommutesAlways(n)) return args;
    const StageHashes& hashes = HashesOf(tensor);
    const auto a = static_cast<std::size_t>(args[0]), b = static_cast<std::size_t>(args[1]);
    const auto key = [&](std::size_t i) { return std::pair(-hashes.largest[i], hashes.nodes[i]); };
    if (key(b) < key(a)) std::swap(args[0], args[1]);
    return args;
  }

  // --- order ---------------------------------------------------------------------------------
  void ForEachInOrder(std::int64_t tensor, int i,
                      const std::function<void(const ExpressionNode&)>& visit) {
    const ExpressionStage& stage = StageOf(tensor);
    const ExpressionNode& n = stage.nodes[static_cast<std::size_t>(i)];
    visit(n);
    const std::vector<int> args =
        IsLinear(stage, i) ? OrderedTerms(tensor, LinearOf(stage, i)) : OrderedArgs(tensor, n);
    for (int arg : args) ForEachInOrder(tensor, arg, visit);
  }

  /// Returns the nodes of a linear form's terms, in an order that does not depend on how the text
  /// groups the sum: added ones first, then as operands that commute.
  std::vector<int> OrderedTerms(std::int64_t tensor, const LinearIndex64& linear) {
    const StageHashes& hashes = HashesOf(tensor);
    struct Term {
      bool subtracted;
      double smallness;
      Hash hash;
      int node;
      auto operator<=>(const Term&) const = default;
    };
    std::vector<Term> terms;
    for (const auto& [text, term] : linear.terms) {
      const auto node = static_cast<std::size_t>(term.node);
      const Hash hash = hashes.nodes[node];
      terms.push_back({term.coefficient < 0, -hashes.largest[node],
                       term.coefficient == 1 ? hash : HashOfTerm(hash, term.coefficient),
                       term.node});
    }
    std::ranges::sort(terms);
    std::vector<int> nodes;
    for (const Term& term : terms) nodes.push_back(term.node);
    return nodes;
  }

  /// Adds stages after those that they read; inputs when first read.
  void Visit(std::int64_t tensor) {
    std::int64_t& number = numbers_[static_cast<std::size_t>(tensor)];
    if (number >= 0) return;
    number = 0;
    if (IsInput(tensor)) {
      read_inputs_.push_back(tensor);
      return;
    }
    ForEachInOrder(tensor, static_cast<int>(StageOf(tensor).nodes.size()) - 1,
                   [&](const ExpressionNode& n) {
                     if (n.kind == ExprKind::kLoad) Visit(n.integer);
                   });
    read_stages_.push_back(tensor);
  }

  /// Returns the axes of a stage in the order of its loads, with dimensions of other stages in
  /// their new order; then the rest.
  std::vector<std::int64_t> AxesAsMet(std::int64_t tensor) {
    const ExpressionStage& stage = StageOf(tensor);
    std::vector<std::int64_t> order;
    const auto add = [&](const ExpressionNode& n) {
      if (n.kind == ExprKind::kVar && std::ranges::find(order, n.integer) == order.end()) {
        order.push_back(n.integer);
      }
    };
    const int body = static_cast<int>(stage.nodes.size()) - 1;
    ForEachInOrder(tensor, body, [&](const ExpressionNode& load) {
      if (load.kind != ExprKind::kLoad) return;
      for (int index : DimensionsInOrder(load)) ForEachInOrder(tensor, index, add);
    });
    ForEachInOrder(tensor, body, add);
    const auto count = static_cast<std::int64_t>(stage.axes.size() + stage.reduce_axes.size());
    std::vector<std::pair<std::int64_t, std::int64_t>> rest;  // independent ones
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::ranges::find(order, i) == order.end()) rest.emplace_back(stage.axis(i).extent, i);
    }
    std::ranges::sort(rest);
    for (const auto& [extent, axis] : rest) order.push_back(axis);
    return order;
  }

  /// Returns the indices of a load, by the new order of the dimensions.
  std::vector<int> DimensionsInOrder(const ExpressionNode& load) {
    if (IsInput(load.integer)) return load.args;
    std::vector<int> args;
    for (std::int64_t d : HashesOf(load.integer).spatial) {
      args.push_back(load.args[static_cast<std::size_t>(d)]);
    }
    return args;
  }

  void OrderAxes() {
    for (std::int64_t tensor : read_stages_) {
      const auto own = static_cast<std::int64_t>(StageOf(tensor).axes.size());
      std::vector<std::int64_t>& spatial = HashesOf(tensor).spatial;
      for (std::int64_t axis : AxesAsMet(tensor)) {
        if (axis < own) spatial.push_back(axis);
      }
      if (tensor == read_stages_.back()) std::ranges::sort(spatial);
    }
    // A stage that is read element by element has the order of its reader.
    for (std::size_t i = read_stages_.size(); i-- > 0;) FollowReaders(read_stages_[i]);
    for (std::int64_t tensor : read_stages_) {
      const ExpressionStage& stage = StageOf(tensor);
      std::vector<std::int64_t>& reduced = HashesOf(tensor).reduced;
      for (std::int64_t axis : AxesAsMet(tensor)) {
        if (axis >= static_cast<std::int64_t>(stage.axes.size())) reduced.push_back(axis);
      }
      if (stage.reduction >= ExpressionReduction::kArgMax) std::ranges::sort(reduced);
    }
  }

  void FollowReaders(std::int64_t reader) {
    const ExpressionStage& stage = StageOf(reader);
    const std::vector<std::int64_t>& order = HashesOf(reader).spatial;
    ForEachInOrder(reader, static_cast<int>(stage.nodes.size()) - 1, [&](const ExpressionNode& n) {
      if (n.kind != ExprKind::kLoad || IsInput(n.integer)) return;
      if (std::ranges::find(followed_, n.integer) != followed_.end()) return;
      std::vector<std::pair<std::ptrdiff_t, std::int64_t>> places;  // in the reader's order
      for (std::size_t d = 0; d < n.args.size(); ++d) {
        const int alone = IsLinear(stage, n.args[d]) ? TermAlone(LinearOf(stage, n.args[d])) : -1;
        const ExpressionNode& index =
            stage.nodes[static_cast<std::size_t>(alone >= 0 ? alone : n.args[d])];
        const auto found =
            index.kind == ExprKind::kVar ? std::ranges::find(order, index.integer) : order.end();
        if (found == order.end()) return;
        places.emplace_back(found - order.begin(), static_cast<std::int64_t>(d));
      }
      followed_.push_back(n.integer);
      std::ranges::sort(places);
      std::vector<std::int64_t>& spatial = HashesOf(n.integer).spatial;
      for (std::size_t d = 0; d < places.size(); ++d) spatial[d] = places[d].second;
    });
  }

  // --- the new expression --------------------------------------------------------------------
  void Rebuild(std::int64_t tensor, Expression& made) {
    const ExpressionStage& stage = StageOf(tensor);
    const StageHashes& hashes = HashesOf(tensor);
    ExpressionStage rebuilt;
    rebuilt.name = fmt::format("t{}", made.stages.size());
    rebuilt.reduction = stage.reduction;
    std::vector<std::int64_t> number(stage.axes.size() + stage.reduce_axes.size());
    const auto add = [&](const std::vector<std::int64_t>& order, char letter,
                         std::vector<ExpressionAxis>& axes) {
      for (std::int64_t axis : order) {
        number[static_cast<std::size_t>(axis)] =
            static_cast<std::int64_t>(rebuilt.axes.size() + rebuilt.reduce_axes.size());
        axes.push_back({fmt::format("{}{}", letter, axes.size()), stage.axis(axis).extent});
      }
    };
    add(hashes.spatial, 'i', rebuilt.axes);
    add(hashes.reduced, 'r', rebuilt.reduce_axes);
    axis_numbers_ = std::move(number);
    Copy(tensor, static_cast<int>(stage.nodes.size()) - 1, rebuilt);
    made.stages.push_back(std::move(rebuilt));
  }

  static int Append(ExpressionStage& to, ExpressionNode node) {
    to.nodes.push_back(std::move(node));
    return static_cast<int>(to.nodes.size()) - 1;
  }

  int Copy(std::int64_t tensor, int i, ExpressionStage& to) {
    const ExpressionStage& stage = StageOf(tensor);
    const ExpressionNode& n = stage.nodes[static_cast<std::size_t>(i)];
    if (IsLinear(stage, i)) return CopyLinear(tensor, LinearOf(stage, i), to);
    ExpressionNode copy = n;
    copy.args = OrderedArgs(tensor, n);
    if (n.kind == ExprKind::kVar) copy.integer = axis_numbers_[static_cast<std::size_t>(n.integer)];
    if (n.kind == ExprKind::kLoad) {
      copy.integer = numbers_[static_cast<std::size_t>(n.integer)];
      if (!IsInput(n.integer)) {
        const std::vector<std::int64_t>& order = HashesOf(n.integer).spatial;
        for (std::size_t d = 0; d < order.size(); ++d) {
          copy.args[d] = n.args[static_cast<std::size_t>(order[d])];
        }
      }
    }
    for (int& arg : copy.args) arg = Copy(tensor, arg, to);
    return Append(to, std::move(copy));
  }

  /// Copies axes first, by number; then the constant.
  int CopyLinear(std::int64_t tensor, const LinearIndex64& linear, ExpressionStage& to) {
    const ExpressionStage& stage = StageOf(tensor);
    struct Part {
      std::int64_t axis;
      Hash hash;
      int node;
      std::int64_t coefficient;
      auto operator<=>(const Part&) const = default;
    };
    std::vector<Part> parts;
    for (const auto& [text, term] : linear.terms) {
      const ExpressionNode& atom = stage.nodes[static_cast<std::size_t>(term.node)];
      const bool axis = atom.kind == ExprKind::kVar;
      parts.push_back({axis ? axis_numbers_[static_cast<std::size_t>(atom.integer)] : 1000,
                       HashesOf(tensor).nodes[static_cast<std::size_t>(term.node)], term.node,
                       term.coefficient});
    }
    std::ranges::sort(parts);
    const auto integer = [&](std::int64_t value) {
      ExpressionNode node;
      node.integer = value;
      return Append(to, std::move(node));
    };
    const auto binary = [&](ExprKind kind, int a, int b) {
      ExpressionNode node;
      node.kind = kind;
      node.args = {a, b};
      return Append(to, std::move(node));
    };
    int sum = -1;
    for (const Part& part : parts) {
      int value = Copy(tensor, part.node, to);
      if (to.nodes[static_cast<std::size_t>(value)].dtype != kInt64) {
        ExpressionNode wide;
        wide.kind = ExprKind::kCast;
        wide.args = {value};
        value = Append(to, std::move(wide));
      }
      const bool subtracted = sum >= 0 && part.coefficient < 0;
      const std::int64_t factor = subtracted ? -part.coefficient : part.coefficient;
      if (factor != 1) value = binary(ExprKind::kMul, value, integer(factor));
      sum = sum < 0 ? value : binary(subtracted ? ExprKind::kSub : ExprKind::kAdd, sum, value);
    }
    if (sum < 0) return integer(linear.constant);
    if (linear.constant == 0) return sum;
    const bool subtracted = linear.constant < 0;
    return binary(subtracted ? ExprKind::kSub : ExprKind::kAdd, sum,
                  integer(subtracted ? -linear.constant : linear.constant));
  }

  const Expression& source_;
  std::vector<TensorHash> tensors_;
  std::vector<Hash> uses_;  // by input: context of its loads
  std::vector<StageHashes> stages_;
  std::vector<std::int64_t> numbers_;  // of the new expression, by tensor
  std::vector<std::int64_t> read_inputs_, read_stages_, followed_;
  std::vector<std::int64_t> axis_numbers_;
};

}  // namespace

CanonicalExpression Canonical(const Expression& expression) { return Canonizer(expression).Run(); }

}  // namespace tilewright
