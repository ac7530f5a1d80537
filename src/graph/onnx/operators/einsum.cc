// Einsum: sums of products of any number of operands. First each operand is reduced: its diagonals
// are extracted, and dimensions that only it has and the result lacks are summed. Then operands are
// multiplied in pairs. Each product is a matrix product with shared dimensions as batch and
// reduction and the others as rows and columns, or an elementwise product if nothing is summed.

#include <algorithm>
#include <map>
#include <string>

#include "src/base/strings.h"
#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Labels of dimensions: a letter, or (kEllipsis + i) for dimension i, counted from the last one, of
// those that "..." represents.
using Labels = std::u32string;
constexpr char32_t kEllipsis = 0x1000;

struct Labelled {
  int id = -1;
  Labels labels;
};

// Parsed equation. "..." is kEllipsis itself, not expanded.
struct Equation {
  std::vector<Labels> terms;
  Labels result;
  bool has_result = false;
};

// Returns the labels of one term. Errors: other characters than letters and one "...".
Labels TermOf(OnnxNode& node, std::string_view text, const std::string& equation) {
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      labels.push_back(static_cast<unsigned char>(text[i]));
      continue;
    }
    if (text.substr(i, 3) != "..." || labels.find(kEllipsis) != Labels::npos) {
      node.FailInvalid("attribute equation is '" + equation +
                       "', expected letters and at most one '...' for each input");
      return {};
    }
    labels.push_back(kEllipsis);
    i += 2;
  }
  return labels;
}

Equation EquationOf(OnnxNode& node) {
  constexpr std::ptrdiff_t kMaxOperands = 64;  // all pairs are compared
  std::string text = node.String("equation", "");
  std::erase(text, ' ');
  Equation equation;
  const std::size_t arrow = text.find("->");
  const std::string inputs = text.substr(0, arrow);
  const std::ptrdiff_t count = std::ranges::count(inputs, ',') + 1;
  if (count > kMaxOperands) {
    node.FailUnsupported("attribute equation has " + std::to_string(count) +
                         " operands, expected at most " + std::to_string(kMaxOperands));
    return equation;
  }
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos && node.ok(); begin = end + 1) {
    end = inputs.find(',', begin);
    equation.terms.push_back(TermOf(
        node, std::string_view(inputs).substr(begin, end == std::string::npos ? end : end - begin),
        text));
  }
  equation.has_result = arrow != std::string::npos;
  if (equation.has_result) {
    equation.result = TermOf(node, std::string_view(text).substr(arrow + 2), text);
  }
  if (node.ok() && std::ssize(equation.terms) != node.input_count()) {
    node.FailInvalid("attribute equation is '" + text + "', of " +
                     std::to_string(equation.terms.size()) + " operands; the node has " +
                     std::to_string(node.input_count()) + " inputs");
  }
  return equation;
}

// Returns `labels` with "..." expanded to `count` dimensions.
Labels WithEllipsis(const Labels& labels, std::size_t count) {
  Labels whole;
  for (char32_t label : labels) {
    if (label != kEllipsis) {
      whole.push_back(label);
      continue;
    }
    for (std::size_t i = count; i-- > 0;) whole.push_back(kEllipsis + static_cast<char32_t>(i));
  }
  return whole;
}

bool Has(const Labels& labels, char32_t label) { return labels.find(label) != Labels::npos; }

// Returns the labels of `from` for which `keep` holds, in their order.
template <typename Keep>
Labels Filtered(const Labels& from, const Keep& keep) {
  Labels kept;
  std::ranges::copy_if(from, std::back_inserter(kept), keep);
  return kept;
}

using Sizes = std::map<char32_t, std::int64_t>;

Shape ShapeFor(const Labels& labels, const Sizes& sizes) {
  Shape shape;
  for (char32_t label : labels) shape.push_back(sizes.at(label));
  return shape;
}

std::int64_t CountOf(const Labels& labels, const Sizes& sizes) {
  std::int64_t product = 1;
  for (char32_t label : labels) product *= sizes.at(label);
  return product;
}

// Emits `operand` with its dimensions in the order of `labels`.
int InOrder(OnnxNode& node, const Labelled& operand, const Labels& labels) {
  if (labels == operand.labels) return operand.id;
  Shape axes;
  for (char32_t label : labels) {
    axes.push_back(static_cast<std::int64_t>(operand.labels.find(label)));
  }
  return node.EmitTranspose(operand.id, std::move(axes));
}

// Emits `operand` with one dimension for each label: the diagonal of dimensions that share a label.
Labelled Diagonal(OnnxNode& node, Labelled operand) {
  constexpr std::int64_t kMaxRows = 46'340;  // the square of this number fits 32 bits
  for (std::size_t first = 0; node.ok() && first < operand.labels.size(); ++first) {
    const std::size_t second = operand.labels.find(operand.labels[first], first + 1);
    if (second == Labels::npos) continue;
    const Shape shape = node.TypeOf(operand.id).shape;
    const std::int64_t rows = shape[first];
    if (rows != shape[second] || rows > kMaxRows) {
      node.FailInvalid(
          "an operand is " + node.TypeOf(operand.id).ToString() + ", whose dimensions " +
          std::to_string(first) + " and " + std::to_string(second) +
          " have one letter; expected equal sizes of at most " + std::to_string(kMaxRows));
      return operand;
    }
    Shape axes, joined;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i == second) continue;
      axes.push_back(static_cast<std::int64_t>(i));
      if (i == first) axes.push_back(static_cast<std::int64_t>(second));
      joined.push_back(i == first ? rows * rows : shape[i]);
    }
    Shape places;
    for (std::int64_t i = 0; i < rows; ++i) places.push_back(i * (rows + 1));
    const int flat = node.EmitReshape(node.EmitTranspose(operand.id, std::move(axes)), joined);
    operand.id = EmitPick(node, flat, static_cast<std::int64_t>(first), places);
    operand.labels.erase(second, 1);
    --first;  // a letter may occur three times
  }
  return operand;
}

// Emits `operand` without broadcast dimensions: dimensions of one element that are larger in other
// operands.
Labelled WithoutBroadcast(OnnxNode& node, Labelled operand, const Sizes& sizes) {
  if (!node.ok()) return operand;
  const Shape shape = node.TypeOf(operand.id).shape;
  Labels kept;
  Shape own;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != sizes.at(operand.labels[i])) continue;
    kept.push_back(operand.labels[i]);
    own.push_back(shape[i]);
  }
  operand.id = node.EmitReshape(operand.id, std::move(own));
  operand.labels = std::move(kept);
  return operand;
}

// Emits `operand` summed over the dimensions that are not in `others`.
Labelled Summed(OnnxNode& node, Labelled operand, const Labels& others) {
  Operator sum{OpKind::kReduceSum, {}};
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    if (!Has(others, operand.labels[i])) {
      sum.attributes.axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (sum.attributes.axes.empty()) return operand;
  operand.id = node.Emit(sum, {operand.id});
  operand.labels = Filtered(operand.labels, [&](char32_t c) { return Has(others, c); });
  return operand;
}

// Emits the product of two operands, summed over the labels that `result` lacks. All labels of only
// one operand are in `result`.
Labelled EinsumProduct(OnnxNode& node, const Labelled& a, const Labelled& b, const Labels& result,
                       const Sizes& sizes) {
  if (!node.ok()) return {};
  const Labels both = Filtered(a.labels, [&](char32_t c) { return Has(b.labels, c); });
  const Labels batch = Filtered(both, [&](char32_t c) { return Has(result, c); });
  const Labels sum = Filtered(both, [&](char32_t c) { return !Has(result, c); });
  const Labels rows = Filtered(a.labels, [&](char32_t c) { return !Has(both, c); });
  const Labels columns = Filtered(b.labels, [&](char32_t c) { return !Has(both, c); });
  const std::int64_t outer = CountOf(batch, sizes), left_size = CountOf(rows, sizes);
  const std::int64_t right_size = CountOf(columns, sizes), depth = CountOf(sum, sizes);
  Labelled product{-1, batch + rows + columns};
  const int left = InOrder(node, a, batch + rows + sum);
  const int right = InOrder(node, b, batch + sum + columns);
  if (sum.empty()) {
    product.id = node.Emit(OpKind::kMul, {node.EmitReshape(left, {outer, left_size, 1}),
                                          node.EmitReshape(right, {outer, 1, right_size})});
  } else {
    product.id = EmitMatmul(node, node.EmitReshape(left, {outer, left_size, depth}),
                            node.EmitReshape(right, {outer, depth, right_size}));
  }
  product.id = node.EmitReshape(product.id, ShapeFor(product.labels, sizes));
  return product;
}

// Returns the operands with their labels, and the size of each label.
std::vector<Labelled> OperandsOf(OnnxNode& node, const Equation& equation, Sizes& sizes,
                                 std::size_t& most_dots) {
  std::vector<Labelled> operands;
  for (std::size_t i = 0; i < equation.terms.size(); ++i) {
    const Labels& term = equation.terms[i];
    const int id = node.Input(static_cast<int>(i));
    if (!node.ok()) return {};
    const Shape shape = node.TypeOf(id).shape;
    const bool dots = Has(term, kEllipsis);
    const std::size_t letters = term.size() - (dots ? 1 : 0);
    if (dots ? shape.size() < letters : shape.size() != letters) {
      node.FailInvalid("input " + std::to_string(i) + " is " + node.TypeOf(id).ToString() +
                       ", the equation has " + std::to_string(letters) + " letters for it");
      return {};
    }
    if (dots) most_dots = std::max(most_dots, shape.size() - letters);
    operands.push_back({id, WithEllipsis(term, shape.size() - letters)});
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& size = sizes.emplace(operands[i].labels[d], shape[d]).first->second;
      if (size != shape[d] && size != 1 && shape[d] != 1) {
        node.FailInvalid("input " + std::to_string(i) + " is " + node.TypeOf(id).ToString() +
                         ", whose dimension " + std::to_string(d) + " is " + std::to_string(size) +
                         " elsewhere in the equation");
        return {};
      }
      if (size == 1) size = shape[d];
    }
  }
  return operands;
}

// Returns the labels of the result. If the equation has no result term, these are "..." and the
// letters that occur once.
Labels ResultOf(OnnxNode& node, const Equation& equation, const std::vector<Labelled>& operands,
                const Sizes& sizes, std::size_t dots) {
  if (!equation.has_result) {
    Labels all, result;
    for (const Labels& term : equation.terms) all += term;
    for (char32_t label : all) {
      if (label != kEllipsis && std::ranges::count(all, label) == 1) result.push_back(label);
    }
    std::ranges::sort(result);
    return WithEllipsis(Labels(1, kEllipsis), dots) + result;
  }
  if (dots > 0 && !Has(equation.result, kEllipsis)) {
    node.FailInvalid("the equation's operands have '...', its result has not");
    return {};
  }
  const Labels result = WithEllipsis(equation.result, dots);
  for (char32_t label : result) {
    const bool known = sizes.contains(label) && std::ranges::count(result, label) == 1;
    if (!known && node.ok()) {
      node.FailInvalid("the equation's result has a letter twice, or one that none of its " +
                       std::to_string(operands.size()) + " operands has");
    }
  }
  return result;
}

void ImportEinsum(OnnxNode& node) {
  const Equation equation = EquationOf(node);
  Sizes sizes;
  std::size_t dots = 0;
  std::vector<Labelled> operands = OperandsOf(node, equation, sizes, dots);
  const Labels result = node.ok() ? ResultOf(node, equation, operands, sizes, dots) : Labels();
  if (!node.ok()) return;
  const DataType dtype = node.TypeOf(operands[0].id).dtype;
  // Products of narrow integers are int32.
  const bool narrow = dtype.is_integer() && dtype.bits < 32;
  for (Labelled& operand : operands) {
    if (narrow) operand.id = node.EmitCast(operand.id, kInt32);
    operand = WithoutBroadcast(node, Diagonal(node, operand), sizes);
  }
  const auto others = [&](std::size_t own) {
    Labels labels = result;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (i != own) labels += operands[i].labels;
    }
    return labels;
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i] = Summed(node, operands[i], others(i));
  }
  while (operands.size() > 1 && node.ok()) {
    // Prefer the next operand that shares a label with the first one.
    auto next = std::find_if(operands.begin() + 1, operands.end(), [&](const Labelled& other) {
      return std::ranges::any_of(other.labels,
                                 [&](char32_t c) { return Has(operands[0].labels, c); });
    });
    if (next == operands.end()) next = operands.begin() + 1;
    const Labelled right = *next;
    operands.erase(next);
    operands[0] = EinsumProduct(node, operands[0], right, others(0), sizes);
  }
  if (!node.ok()) return;
  // A dimension that every operand broadcasts has size 1 in the result and is in no operand.
  node.SetOutput(node.EmitCast(InOrder(node, operands[0], result), dtype));
}

constexpr OnnxHandlerEntry kEinsumHandlers[] = {{"Einsum", &ImportEinsum}};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxEinsumHandlers() { return kEinsumHandlers; }

}  // namespace tilewright
