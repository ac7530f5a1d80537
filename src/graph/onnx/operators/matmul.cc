// Matrix products. Ours multiply [M,K] by a transposed weight [N,K]; a weight that comes as [K,N]
// gets a transpose, which FoldConstants does once if the weight is constant.

#include <algorithm>
#include <map>

#include "src/base/math.h"
#include "src/base/strings.h"
#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/quantized/qdq.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// `id` times `factor`, which is 1 most of the time.
int Scaled(OnnxNode& node, int id, double factor) {
  return factor == 1 ? id : node.Emit(OpKind::kMul, id, factor);
}

// ONNX has no products of integers of 8 or 16 bits, or of truth values, but MatMulInteger: what
// they would be (sums of their own type, or of int32) is said nowhere.
void ExpectProductType(OnnxNode& node) {
  for (int i = 0; i < 2; ++i) {
    const TensorType type = node.InputType(i);
    if (!node.ok() || type.dtype.is_float() || (type.dtype.is_integer() && type.dtype.bits >= 32)) {
      continue;
    }
    return node.FailInvalid("input " + std::to_string(i) + " is " + type.ToString() +
                            ", expected floats or integers of 32 or 64 bits; products of int8 and "
                            "uint8 are MatMulInteger or QLinearMatMul");
  }
}

void ImportGemm(OnnxNode& node) {
  ExpectProductType(node);
  if (!node.ok()) return;
  if (!ImportQuantizedGemm(node)) node.SetOutput(EmitGemm(node));
}

void ImportMatMul(OnnxNode& node) {
  ExpectProductType(node);
  if (!node.ok() || ImportQuantizedMatMul(node)) return;
  node.SetOutput(EmitMatmul(node, node.Input(0), node.Input(1)));
}

// The dimensions before the last two of both operands, broadcast against each other.
Shape BatchShape(OnnxNode& node, const Shape& a, const Shape& b) {
  Shape batch(std::max(a.size(), b.size()) - 2, 1);
  for (const Shape* shape : {&a, &b}) {
    for (std::size_t i = 0; i + 2 < shape->size(); ++i) {  // i counts from the last batch dimension
      const std::int64_t extent = (*shape)[shape->size() - 3 - i];
      std::int64_t& joined = batch[batch.size() - 1 - i];
      if (extent != joined && extent != 1 && joined != 1) {
        node.FailInvalid("dimensions " + std::to_string(joined) + " and " + std::to_string(extent) +
                         " do not broadcast");
      }
      if (joined == 1) joined = extent;
    }
  }
  return batch;
}

// `id` with its batch dimensions broadcast to `batch` and joined into one: [B, x, y].
int JoinBatch(OnnxNode& node, int id, const Shape& batch) {
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(id).shape;
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  Shape full = batch;
  full.insert(full.end(), {rows, columns});
  if (Product(shape) != Product(full)) {
    Operator op{OpKind::kBroadcastTo, {}};
    op.attributes.new_shape = full;
    id = node.Emit(op, {id});
  }
  return node.EmitReshape(id, {Product(batch), rows, columns});
}

// An operand of an Einsum: a letter for each dimension.
struct Labelled {
  int id = -1;
  std::string labels;
};

// Letters of `from` for which `keep` holds, in their order.
template <typename Keep>
std::string Filtered(const std::string& from, const Keep& keep) {
  std::string kept;
  std::ranges::copy_if(from, std::back_inserter(kept), keep);
  return kept;
}

// `operand` with its dimensions in the order of `labels`.
int InOrder(OnnxNode& node, const Labelled& operand, const std::string& labels) {
  if (labels == operand.labels) return operand.id;
  Shape axes;
  for (char label : labels) {
    axes.push_back(static_cast<std::int64_t>(operand.labels.find(label)));
  }
  return node.EmitTranspose(operand.id, std::move(axes));
}

// `operand` without the dimensions that neither `others` nor the result has: they are summed over.
Labelled Summed(OnnxNode& node, Labelled operand, const std::string& others) {
  Operator sum{OpKind::kReduceSum, {}};
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    const bool kept = others.find(operand.labels[i]) != others.npos;
    if (!kept) sum.attributes.axes.push_back(static_cast<std::int64_t>(i));
  }
  if (sum.attributes.axes.empty()) return operand;
  operand.id = node.Emit(sum, {operand.id});
  operand.labels = Filtered(operand.labels, [&](char c) { return others.find(c) != others.npos; });
  return operand;
}

// The product of two operands, summed over the letters that the result does not have: a matrix
// product of what both have (batch and sum) and what only one of them has (rows, columns).
Labelled EinsumProduct(OnnxNode& node, const Labelled& a, const Labelled& b,
                       const std::string& result, std::map<char, std::int64_t>& sizes) {
  const auto in = [](const std::string& text) {
    return [&text](char c) { return text.find(c) != text.npos; };
  };
  const std::string both = Filtered(a.labels, in(b.labels));
  const std::string batch = Filtered(both, in(result));
  const std::string sum = Filtered(both, [&](char c) { return !in(result)(c); });
  const std::string rows = Filtered(a.labels, [&](char c) { return !in(both)(c); });
  const std::string columns = Filtered(b.labels, [&](char c) { return !in(both)(c); });
  const auto size = [&](const std::string& labels) {
    std::int64_t product = 1;
    for (char label : labels) product *= sizes[label];
    return product;
  };
  const int left =
      node.EmitReshape(InOrder(node, a, batch + rows + sum), {size(batch), size(rows), size(sum)});
  const int right = node.EmitReshape(InOrder(node, b, batch + sum + columns),
                                     {size(batch), size(sum), size(columns)});
  Labelled product{EmitMatmul(node, left, right), batch + rows + columns};
  Shape shape;
  for (char label : product.labels) shape.push_back(sizes[label]);
  product.id = node.EmitReshape(product.id, std::move(shape));
  return product;
}

// The letters of the result where the equation does not say them: those that are there once.
std::string ImplicitResult(const std::string& all) {
  std::string result = Filtered(all, [&](char c) { return std::ranges::count(all, c) == 1; });
  std::ranges::sort(result);
  return result;
}

void ImportEinsum(OnnxNode& node) {
  std::string equation = node.String("equation", "");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const auto terms = Split(equation.substr(0, arrow), ',');
  const bool plain = std::ranges::all_of(equation, [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(",->").find(c) != std::string_view::npos;
  });
  if (!plain || terms.size() > 2 || std::ssize(terms) != node.input_count()) {
    return node.FailUnsupported("equation " + equation +
                                " is not supported, expected letters for one or two inputs");
  }
  std::vector<Labelled> operands;
  std::map<char, std::int64_t> sizes;
  std::string all;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    operands.push_back({node.Input(static_cast<int>(i)), std::string(terms[i])});
    const Shape shape = node.TypeOf(operands[i].id).shape;
    bool fits = shape.size() == terms[i].size();
    for (std::size_t d = 0; fits && d < shape.size(); ++d) {
      const bool twice = std::ranges::count(terms[i], terms[i][d]) > 1;
      fits = !twice && sizes.emplace(terms[i][d], shape[d]).first->second == shape[d];
    }
    if (node.ok() && !fits) {
      return node.FailUnsupported("input " + std::to_string(i) + " is " +
                                  node.TypeOf(operands[i].id).ToString() + ", equation " +
                                  equation + " says otherwise, or names a dimension twice");
    }
    all += terms[i];
  }
  const std::string result =
      arrow == std::string::npos ? ImplicitResult(all) : equation.substr(arrow + 2);
  const bool known = std::ranges::all_of(
      result, [&](char c) { return sizes.contains(c) && std::ranges::count(result, c) == 1; });
  if (!known) return node.FailInvalid("equation " + equation + " has no such result");
  if (!node.ok()) return;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::string others = operands.size() == 2 ? operands[1 - i].labels + result : result;
    operands[i] = Summed(node, operands[i], others);
  }
  Labelled made = operands[0];
  if (operands.size() == 2) made = EinsumProduct(node, operands[0], operands[1], result, sizes);
  if (node.ok()) node.SetOutput(InOrder(node, made, result));
}

constexpr OnnxHandlerEntry kMatmulHandlers[] = {
    {"Einsum", &ImportEinsum},
    {"Gemm", &ImportGemm},
    {"MatMul", &ImportMatMul},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxMatmulHandlers() { return kMatmulHandlers; }

int EmitGemm(OnnxNode& node) {
  node.ExpectRank(0, 2);
  node.ExpectRank(1, 2);
  int data = node.Input(0);
  if (!node.ok()) return -1;
  if (node.Int("transA", 0) != 0) data = node.EmitTranspose(data, {1, 0});
  int result = EmitDense(node, data, node.Input(1), node.Int("transB", 0) != 0);
  result = Scaled(node, result, node.Float("alpha", 1));
  const double beta = node.Float("beta", 1);
  if (node.HasInput(2) && beta != 0) {
    result = node.Emit(OpKind::kAdd, {result, Scaled(node, node.Input(2), beta)});
  }
  return result;
}

int EmitDense(OnnxNode& node, int data, int weight, bool weight_transposed,
              std::optional<DataType> sums) {
  if (!weight_transposed) weight = node.EmitTranspose(weight, {1, 0});
  Operator op{OpKind::kDense, {}};
  op.attributes.data_layout = "MK";
  op.attributes.kernel_layout = "NK";
  op.attributes.dtype = sums;
  return node.Emit(op, {data, weight});
}

int EmitMatmul(OnnxNode& node, int a, int b, std::optional<DataType> sums) {
  if (!node.ok()) return -1;
  Shape shape_a = node.TypeOf(a).shape, shape_b = node.TypeOf(b).shape;
  if (shape_a.empty() || shape_b.empty()) {
    node.FailInvalid("an operand is a scalar, expected at least one dimension");
    return -1;
  }
  const bool vector_a = shape_a.size() == 1, vector_b = shape_b.size() == 1;
  if (vector_a) a = node.EmitReshape(a, shape_a = {1, shape_a[0]});
  if (vector_b) b = node.EmitReshape(b, shape_b = {shape_b[0], 1});
  Shape result(shape_a.begin(), shape_a.end() - 1);
  int product = -1;
  if (shape_b.size() == 2) {
    const std::int64_t depth = shape_a.back();
    const int rows = node.EmitReshape(a, {Product(result), depth});
    product = EmitDense(node, rows, b, false, sums);
  } else {
    const Shape batch = BatchShape(node, shape_a, shape_b);
    const int left = JoinBatch(node, a, batch);
    const int right = node.EmitTranspose(JoinBatch(node, b, batch), {0, 2, 1});
    Operator op{OpKind::kBatchMatmul, {}};
    op.attributes.data_layout = "BMK";
    op.attributes.kernel_layout = "BNK";
    op.attributes.dtype = sums;
    product = node.Emit(op, {left, right});
    result = batch;
    result.push_back(shape_a[shape_a.size() - 2]);
  }
  result.push_back(shape_b.back());
  if (vector_b) result.pop_back();
  if (vector_a) result.erase(result.end() - (vector_b ? 1 : 2));
  return node.EmitReshape(product, result);
}

}  // namespace tilewright
