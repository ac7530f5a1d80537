// Random expressions. Every existing tensor is a leaf, each of its dimensions gets an index of
// known range, and the last stage reads all tensors that no other stage reads.

#include "tests/support/random_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <vector>

#include "src/base/random.h"
#include "src/tensor/expression/expression.h"

namespace tilewright {
namespace {

struct DrawnTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  bool integer = false;
  bool read = false;
};

struct DrawnAxis {
  std::string name;
  std::int64_t extent;
};

class ExpressionDrawer {
 public:
  explicit ExpressionDrawer(std::uint64_t seed) : random_(seed) {}

  std::string Run() {
    const std::uint64_t inputs = 1 + random_.Below(3);
    for (std::uint64_t i = 0; i < inputs; ++i) AddInput(i > 0 && random_.Below(2) == 0);
    const std::uint64_t first = random_.Below(6);
    if (first < 2) AddProduct();
    if (first == 2) AddWindows();
    const std::uint64_t stages = 1 + random_.Below(3);
    for (std::uint64_t i = 0; i < stages; ++i) AddStage(i + 1 == stages);
    return text_;
  }

 private:
  bool Chance(std::uint64_t of) { return random_.Below(of) == 0; }
  std::int64_t Extent() {
    constexpr std::int64_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 20, 33};
    return kExtents[random_.Below(std::size(kExtents))];
  }

  void AddInput(bool constant) {
    DrawnTensor tensor;
    tensor.name = fmt::format("In{}", tensors_.size());
    const std::uint64_t rank = 1 + random_.Below(3);
    for (std::uint64_t d = 0; d < rank; ++d) tensor.shape.push_back(Extent());
    tensor.integer = Chance(5);
    const char* integers[] = {"int8", "uint8", "int32"};
    text_ += fmt::format("{} {}: {}[{}]\n", constant ? "const" : "input", tensor.name,
                         tensor.integer ? integers[random_.Below(3)] : "float32",
                         fmt::join(tensor.shape, ", "));
    tensors_.push_back(std::move(tensor));
  }

  std::vector<DrawnAxis> NewAxes(std::uint64_t count, std::int64_t most) {
    std::vector<DrawnAxis> axes;
    std::int64_t elements = 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::int64_t extent = Extent();
      if (elements * extent > most) extent = 2;
      elements *= extent;
      axes.push_back({fmt::format("a{}", axes_++), extent});
    }
    return axes;
  }

  static std::string Listed(const std::vector<DrawnAxis>& axes) {
    std::string text;
    for (const DrawnAxis& axis : axes) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", axis.name, axis.extent);
    }
    return text;
  }

  /// Returns an index of a dimension of this extent over the axes of the stage.
  std::string Index(std::int64_t extent, const std::vector<DrawnAxis>& axes) {
    for (int tries = 0; tries < 4 && !axes.empty(); ++tries) {
      const DrawnAxis& axis = axes[random_.Below(axes.size())];
      const std::uint64_t kind = random_.Below(8);
      if (kind < 4 && axis.extent <= extent) {
        const std::int64_t room = extent - axis.extent;
        if (room == 0 || Chance(2)) return axis.name;
        return fmt::format("{} + {}", axis.name,
                           random_.Below(static_cast<std::uint64_t>(room) + 1));
      }
      if (kind == 4) return fmt::format("{} % {}", axis.name, extent);
      if (kind == 5) {
        const std::int64_t divisor = (axis.extent + extent - 1) / extent;
        return divisor == 1 ? axis.name : fmt::format("{} / {}", axis.name, divisor);
      }
      if (kind == 6) {
        return fmt::format("clamp(2 * {} - 1, 0, {})", axis.name, extent - 1);
      }
      const DrawnAxis& other = axes[random_.Below(axes.size())];
      if (kind == 7 && axis.extent + other.extent - 1 <= extent && other.name != axis.name) {
        return fmt::format("{} + {}", axis.name, other.name);
      }
    }
    return fmt::format("{}", random_.Below(static_cast<std::uint64_t>(extent)));
  }

  std::string Read(DrawnTensor& tensor, const std::vector<DrawnAxis>& axes) {
    tensor.read = true;
    std::vector<std::string> indices;
    for (std::int64_t extent : tensor.shape) indices.push_back(Index(extent, axes));
    // Often uses adjacent axes for adjacent dimensions, as real expressions do.
    if (Chance(2) && tensor.shape.size() <= axes.size()) {
      for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
        const DrawnAxis& axis = axes[axes.size() - tensor.shape.size() + d];
        if (axis.extent <= tensor.shape[d]) indices[d] = axis.name;
      }
    }
    std::string load = fmt::format("{}[{}]", tensor.name, fmt::join(indices, ", "));
    if (Chance(6) && !axes.empty()) {
      // A guarded read beyond an end.
      const DrawnAxis& axis = axes[random_.Below(axes.size())];
      const std::int64_t extent = tensor.shape[0];
      std::vector<std::string> shifted = indices;
      shifted[0] = fmt::format("{} - 1", axis.name);
      load = fmt::format("select({0} >= 1 and {0} <= {1}, {2}[{3}], {4})", axis.name, extent,
                         tensor.name, fmt::join(shifted, ", "), tensor.integer ? "0" : "0.5");
    }
    return tensor.integer ? fmt::format("float32({})", load) : load;
  }

  std::string Gathered(const std::vector<DrawnAxis>& axes) {
    for (DrawnTensor& index : tensors_) {
      if (!index.integer) continue;
      for (DrawnTensor& table : tensors_) {
        if (table.integer || table.name == index.name) continue;
        index.read = table.read = true;
        std::vector<std::string> places, indices;
        for (std::int64_t extent : index.shape) places.push_back(Index(extent, axes));
        for (std::int64_t extent : table.shape) indices.push_back(Index(extent, axes));
        indices[0] = fmt::format("clamp({}[{}], 0, {})", index.name, fmt::join(places, ", "),
                                 table.shape[0] - 1);
        return fmt::format("{}[{}]", table.name, fmt::join(indices, ", "));
      }
    }
    return Leaf(axes);
  }

  std::string Leaf(const std::vector<DrawnAxis>& axes) {
    if (Chance(10))
      return fmt::format("{:.2f}", 0.25 * static_cast<double>(random_.Below(9)) + 0.25);
    if (Chance(12) && !axes.empty()) {
      return fmt::format("float32({})", axes[random_.Below(axes.size())].name);
    }
    return Read(tensors_[random_.Below(tensors_.size())], axes);
  }

  std::string Value(const std::vector<DrawnAxis>& axes, int depth) {
    if (depth == 0) return Leaf(axes);
    const auto inner = [&] { return Value(axes, depth - 1); };
    switch (random_.Below(12)) {
      case 0:
        return fmt::format("({} + {})", inner(), inner());
      case 1:
        return fmt::format("({} - {})", inner(), inner());
      case 2:
      case 3:
        return fmt::format("{} * {}", Leaf(axes), Leaf(axes));
      case 4:
        return fmt::format("max({}, {})", inner(), inner());
      case 5:
        return fmt::format("select({} < {}, {}, {})", Leaf(axes), Leaf(axes), inner(), inner());
      case 6:
        return fmt::format("tanh({})", inner());
      case 7:
        return fmt::format("exp(clamp({}, -4.0, 2.0))", inner());
      case 8:
        return fmt::format("sqrt(abs({}) + 0.5)", inner());
      case 9:
        return fmt::format("({}) / (abs({}) + 1.5)", inner(), Leaf(axes));
      case 10:
        return Gathered(axes);
      default:
        return inner();
    }
  }

  /// Adds a sum of products of two new inputs, as in contractions.
  void AddProduct() {
    const std::vector<DrawnAxis> axes = NewAxes(2 + random_.Below(2), 1500);
    const std::vector<DrawnAxis> reduced = NewAxes(1 + random_.Below(2), 60);
    DrawnTensor operands[2];
    std::string loads[2];
    for (int i = 0; i < 2; ++i) {
      DrawnTensor& operand = operands[i];
      operand.name = fmt::format("Op{}_{}", tensors_.size(), i);
      std::vector<std::string> indices;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        const bool last = a + 1 == axes.size();
        const bool mine = last ? i == 1 || Chance(4) : i == 0 || Chance(4);
        if (!mine) continue;
        operand.shape.push_back(axes[a].extent);
        indices.push_back(axes[a].name);
      }
      for (const DrawnAxis& axis : reduced) {
        const bool window = i == 0 && Chance(3) && !indices.empty() && indices.back()[0] == 'a' &&
                            indices.back().find(' ') == std::string::npos;
        if (window) {
          operand.shape.back() += axis.extent - 1;
          indices.back() += " + " + axis.name;
        } else {
          operand.shape.push_back(axis.extent);
          indices.push_back(axis.name);
        }
      }
      if (Chance(2)) {
        std::reverse(operand.shape.begin(), operand.shape.end());
        std::reverse(indices.begin(), indices.end());
      }
      operand.read = true;
      text_ += fmt::format("{} {}: float32[{}]\n", i == 1 && Chance(2) ? "const" : "input",
                           operand.name, fmt::join(operand.shape, ", "));
      loads[i] = fmt::format("{}[{}]", operand.name, fmt::join(indices, ", "));
    }
    for (DrawnTensor& operand : operands) tensors_.push_back(std::move(operand));
    Append(axes, fmt::format("sum({}) {} * {}", Listed(reduced), loads[0], loads[1]), false);
  }

  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(high - low + 1)));
  }

  /// Adds a window that moves over an image, with or without padding, as in depthwise convolutions,
  /// stencils and pooling.
  void AddWindows() {
    const std::vector<DrawnAxis> channels = Chance(4) ? std::vector<DrawnAxis>() : NewAxes(1, 6);
    const auto axis = [&](std::int64_t extent) {
      return DrawnAxis{fmt::format("a{}", axes_++), extent};
    };
    const DrawnAxis window[2] = {axis(Between(1, 4)), axis(Between(1, 4))};
    const DrawnAxis position[2] = {axis(Between(2, 18)), axis(Between(2, 40))};
    const std::int64_t stride = Chance(5) ? 2 : 1, dilation = Chance(5) ? 2 : 1;
    DrawnTensor image, weight;
    std::vector<std::string> index, taps;
    for (const DrawnAxis& channel : channels) {
      image.shape.push_back(channel.extent);
      weight.shape.push_back(channel.extent);
      index.push_back(channel.name);
      taps.push_back(channel.name);
    }
    for (int i = 0; i < 2; ++i) {
      image.shape.push_back(stride * (position[i].extent - 1) + dilation * (window[i].extent - 1) +
                            1);
      weight.shape.push_back(window[i].extent);
      index.push_back(
          fmt::format("{} * {} + {} * {}", stride, position[i].name, dilation, window[i].name));
      taps.push_back(window[i].name);
    }
    const bool padded = Chance(2);
    DrawnTensor input = image;
    if (padded) {
      for (std::size_t d = channels.size(); d < input.shape.size(); ++d) {
        input.shape[d] = std::max<std::int64_t>(1, input.shape[d] - 2);
      }
    }
    input.name = fmt::format("Pic{}", tensors_.size());
    input.read = true;
    text_ += fmt::format("input {}: float32[{}]\n", input.name, fmt::join(input.shape, ", "));
    std::string read = fmt::format("{}[{}]", input.name, fmt::join(index, ", "));
    const std::vector<std::int64_t> inside = input.shape;
    const std::string from = input.name;
    tensors_.push_back(std::move(input));
    const std::uint64_t kind = random_.Below(4);
    if (padded) {
      std::vector<DrawnAxis> axes;
      std::vector<std::string> places, conditions;
      for (std::size_t d = 0; d < image.shape.size(); ++d) {
        axes.push_back(axis(image.shape[d]));
        const bool edge = d >= channels.size();
        places.push_back(axes[d].name + (edge ? " - 1" : ""));
        if (!edge) continue;
        conditions.push_back(fmt::format("{0} >= 1 and {0} <= {1}", axes[d].name, inside[d]));
      }
      Append(axes,
             fmt::format("select({}, {}[{}], {})", fmt::join(conditions, " and "), from,
                         fmt::join(places, ", "), kind == 3 ? "-100.0" : "0.0"),
             false);
      tensors_.back().read = true;
      read = fmt::format("{}[{}]", tensors_.back().name, fmt::join(index, ", "));
    }
    if (kind < 2) {
      weight.name = fmt::format("Taps{}", tensors_.size());
      weight.read = true;
      text_ += fmt::format("{} {}: float32[{}]\n", kind == 0 ? "const" : "input", weight.name,
                           fmt::join(weight.shape, ", "));
      read += fmt::format(" * {}[{}]", weight.name, fmt::join(taps, ", "));
      tensors_.push_back(std::move(weight));
    }
    std::vector<DrawnAxis> axes = channels;
    axes.insert(axes.end(), position, position + 2);
    Append(
        axes,
        fmt::format("{}({}) {}", kind == 3 ? "max" : "sum", Listed({window[0], window[1]}), read),
        false);
  }

  void Append(const std::vector<DrawnAxis>& axes, const std::string& value, bool integer) {
    DrawnTensor tensor;
    tensor.name = fmt::format("T{}", tensors_.size());
    for (const DrawnAxis& axis : axes) tensor.shape.push_back(axis.extent);
    tensor.integer = integer;
    text_ += fmt::format("{}[{}] = {}\n", tensor.name, Listed(axes), value);
    tensors_.push_back(std::move(tensor));
  }

  void AddStage(bool last) {
    // Often reuses the axes of the previous stage, like an epilogue.
    std::vector<DrawnAxis> axes = NewAxes(1 + random_.Below(3), 2000);
    if (Chance(2) && !tensors_.back().shape.empty()) {
      axes.clear();
      for (std::int64_t extent : tensors_.back().shape) {
        axes.push_back({fmt::format("a{}", axes_++), extent});
      }
    }
    std::vector<DrawnAxis> all = axes;
    std::string reduction;
    bool position = false;
    if (Chance(3)) {
      const std::vector<DrawnAxis> reduced = NewAxes(1 + random_.Below(2), 40);
      constexpr const char* kReductions[] = {"sum", "sum", "max", "min", "product", "argmax"};
      const std::string name = kReductions[random_.Below(last ? 6 : 5)];
      position = name == "argmax";
      reduction = fmt::format("{}({}) ", name, Listed(reduced));
      all.insert(all.end(), reduced.begin(), reduced.end());
      if (name == "product") {  // a product of numbers near 1
        return Finish(axes, reduction + fmt::format("(1.0 + 0.1 * tanh({}))", Rest(all, last)),
                      false);
      }
    }
    Finish(axes, reduction + Rest(all, last), position);
  }

  /// Returns a value; for the last stage, one that reads all remaining tensors.
  std::string Rest(const std::vector<DrawnAxis>& axes, bool last) {
    std::string value = Value(axes, 2);
    const bool named = value.find('[') != std::string::npos;
    if (!named) value = fmt::format("({} + {})", value, Read(tensors_.back(), axes));
    for (DrawnTensor& tensor : tensors_) {
      if (last && !tensor.read) value = fmt::format("({} + {})", value, Read(tensor, axes));
    }
    return value;
  }

  void Finish(const std::vector<DrawnAxis>& axes, const std::string& value, bool position) {
    Append(axes, value, position);
  }

  Random random_;
  std::string text_;
  std::vector<DrawnTensor> tensors_;
  int axes_ = 0;
};

}  // namespace

std::string RandomExpressionText(std::uint64_t seed) {
  std::string text = ExpressionDrawer(seed).Run();
  // Inputs come before stages.
  std::string inputs, stages;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin) + 1;
    const std::string line = text.substr(begin, end - begin);
    const bool input = line.starts_with("input") || line.starts_with("const");
    (input ? inputs : stages) += line;
    begin = end;
  }
  return inputs + stages;
}

std::string RandomProductText(std::uint64_t seed) {
  Random random(seed);
  const auto one_of = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random.Below(words.size())]);
  };
  const auto multiple = [&](std::int64_t unit, std::uint64_t most) {
    return unit * static_cast<std::int64_t>(1 + random.Below(most));
  };
  const std::string type = one_of({"float32", "float16", "int8"});
  const std::string sum = type == "int8" ? "int32" : "float32";
  const auto factor = [&](const std::string& read) {
    return type == sum ? read : fmt::format("{}({})", sum, read);
  };
  const std::int64_t m = multiple(16, 3), n = multiple(8, 4), k = multiple(16, 3);
  std::string text, axes, result;  // of the sums: "i: 16, j: 8", "i, j"
  if (random.Below(3) == 0) {
    const std::int64_t window = multiple(1, 3), pad = window / 2, height = multiple(1, 4);
    const bool last = random.Below(2) == 0;  // channels come last
    const std::string shape =
        last ? fmt::format("{}, {}, {}", height, n, k) : fmt::format("{}, {}, {}", k, height, n);
    const std::string zero = sum == "int32" ? "0" : "0.0";
    const bool plain = window == 1;
    // The padding is a separate stage of the factor's type.
    text = fmt::format("input X: {0}[{1}]\nconst W: {0}[{2}, {3}, {4}, {4}]\n", type, shape, m, k,
                       window);
    const std::int64_t high = height + window - 1, wide = n + window - 1;
    if (!plain) {
      const std::string from = last ? fmt::format("X[v - {0}, u - {0}, c]", pad)
                                    : fmt::format("X[c, v - {0}, u - {0}]", pad);
      const std::string value =
          fmt::format("select(v >= {0} and v < {1} and u >= {0} and u < {2}, {3}, {4})", pad,
                      height + pad, n + pad, factor(from), zero);
      const std::string own = type == sum ? value : fmt::format("{}({})", type, value);
      text += last ? fmt::format("P[v: {}, u: {}, c: {}] = {}\n", high, wide, k, own)
                   : fmt::format("P[c: {}, v: {}, u: {}] = {}\n", k, high, wide, own);
    }
    axes = fmt::format("f: {}, y: {}, x: {}", m, height, n);
    result = "f, y, x";
    const std::string load = plain ? (last ? "X[y, x, c]" : "X[c, y, x]")
                                   : (last ? "P[y + r, x + s, c]" : "P[c, y + r, x + s]");
    text += fmt::format("C[{}] = sum(c: {}, r: {}, s: {}) {} * {}\n", axes, k, window, window,
                        factor(load), factor("W[f, c, r, s]"));
  } else {
    const std::int64_t batch = random.Below(2) == 0 ? 0 : multiple(1, 3);
    const std::string b = batch == 0 ? "" : "b, ",
                      size = batch == 0 ? "" : fmt::format("{}, ", batch);
    const bool turned_a = random.Below(2) == 0, turned_b = random.Below(2) == 0;
    text = fmt::format("input A: {0}[{1}{2}, {3}]\ninput B: {0}[{1}{4}, {5}]\n", type, size,
                       turned_a ? k : m, turned_a ? m : k, turned_b ? k : n, turned_b ? n : k);
    axes = (batch == 0 ? "" : fmt::format("b: {}, ", batch)) + fmt::format("i: {}, j: {}", m, n);
    result = b + "i, j";
    text += fmt::format("C[{}] = sum(k: {}) {} * {}\n", axes, k,
                        factor(fmt::format("A[{}{}]", b, turned_a ? "k, i" : "i, k")),
                        factor(fmt::format("B[{}{}]", b, turned_b ? "k, j" : "j, k")));
  }
  const std::string scaled = sum == "int32" ? "3" : "0.5";
  if (random.Below(2) == 0) {
    text += fmt::format("R[{0}] = max(C[{1}] * {2}, {3})\n", axes, result, scaled,
                        sum == "int32" ? "0" : "0.0");
  }
  return text;
}

std::string RenamedExpressionText(const std::string& text, std::uint64_t seed) {
  auto parsed = ParseExpression(text);
  if (!parsed.ok()) return text;
  Expression renamed = *std::move(parsed);
  Random random(seed);
  int number = 0;
  for (ExpressionStage& stage : renamed.stages) {
    stage.name =
        fmt::format("stage_{}", random.Below(1000) * 100 + static_cast<std::uint64_t>(number));
    for (auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (ExpressionAxis& axis : *axes) axis.name = fmt::format("z{}", 100 - number++);
    }
    for (ExpressionNode& node : stage.nodes) {
      const bool commutes = node.kind == ExprKind::kAdd || node.kind == ExprKind::kMul;
      if (commutes && random.Below(2) == 0) std::swap(node.args[0], node.args[1]);
    }
    if (stage.reduce_axes.size() == 2 && stage.reduction < ExpressionReduction::kArgMax) {
      std::swap(stage.reduce_axes[0], stage.reduce_axes[1]);
      const auto own = static_cast<std::int64_t>(stage.axes.size());
      for (ExpressionNode& node : stage.nodes) {
        if (node.kind == ExprKind::kVar && node.integer >= own) {
          node.integer = own + 1 - (node.integer - own);
        }
      }
    }
  }
  // Inputs in reverse order.
  const auto count = static_cast<std::int64_t>(renamed.inputs.size());
  std::reverse(renamed.inputs.begin(), renamed.inputs.end());
  for (ExpressionInput& input : renamed.inputs) input.name = "renamed_" + input.name;
  for (ExpressionStage& stage : renamed.stages) {
    for (ExpressionNode& node : stage.nodes) {
      if (node.kind == ExprKind::kLoad && node.integer < count)
        node.integer = count - 1 - node.integer;
    }
  }
  return PrintExpression(renamed);
}

}  // namespace tilewright
