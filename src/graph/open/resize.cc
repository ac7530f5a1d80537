// Each extent, attribute and constant of the two given networks is compared, and the value for
// another size lies on the line through both.

#include "src/graph/open/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "src/base/printable.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Attributes that may be linear in a size.
constexpr Shape OpAttributes::*kSizeAttributes[] = {&OpAttributes::new_shape, &OpAttributes::begin,
                                                    &OpAttributes::end, &OpAttributes::pad_width};

/// Operator without the attributes that may be linear in a size.
Operator WithoutSizes(Operator op) {
  for (const auto sizes : kSizeAttributes) (op.attributes.*sizes).clear();
  return op;
}

bool SameStart(const Tensor& small, const Tensor& large) {
  return small.bytes() <= large.bytes() &&
         std::memcmp(small.data(), large.data(), static_cast<std::size_t>(small.bytes())) == 0;
}

/// Returns true if the elements of `shape` are the first of those of `larger`, which has more along
/// its outermost dimension.
bool IsStart(const Shape& shape, const Shape& larger) {
  if (shape.size() != larger.size()) return false;
  bool outermost = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != larger[i] && !outermost) return false;
    outermost = outermost && larger[i] == 1;
  }
  return true;
}

/// Builder of the network with another size.
class Resizer {
 public:
  Resizer(const SizedGraphs& graphs, std::int64_t size, std::int64_t max_elements)
      : graphs_(graphs),
        small_(*graphs.small),
        large_(*graphs.large),
        size_(size),
        max_elements_(max_elements) {}

  Result<Graph> Run() {
    TW_RETURN_IF_ERROR(CheckCounts());
    for (int id = 0; id < small_.size(); ++id) {
      if (Status status = Add(id); !status.ok()) {
        return AboutValue(small_, id, *graphs_.range, status);
      }
    }
    made_.SetOutputs(small_.outputs());
    made_.CopyDescription(small_);
    return std::move(made_);
  }

 private:
  Status CheckCounts() const {
    if (small_.size() == large_.size() && small_.outputs() == large_.outputs()) return Status();
    return Unsupported(fmt::format("--dim {}: the network has other operators with {} than with {}",
                                   graphs_.range->ToString(), graphs_.large_size,
                                   graphs_.small_size));
  }

  Result<std::int64_t> Between(std::int64_t small, std::int64_t large) const {
    if (small == large) return small;
    const std::int64_t run = graphs_.large_size - graphs_.small_size, rise = large - small;
    if (rise % run != 0) return Unsupported("is not linear in it");
    return small + rise / run * (size_ - graphs_.small_size);
  }

  Result<Shape> Between(const Shape& small, const Shape& large) const {
    if (small.size() != large.size()) return Unsupported("has a rank that depends on it");
    Shape made;
    for (std::size_t i = 0; i < small.size(); ++i) {
      TW_ASSIGN_OR_RETURN(const auto value, Between(small[i], large[i]));
      made.push_back(value);
    }
    return made;
  }

  Status Add(int id) {
    const Node &small = small_.node(id), &large = large_.node(id);
    if (small.kind != large.kind || small.name != large.name || small.inputs != large.inputs ||
        small.type.dtype != large.type.dtype) {
      return Unsupported("is another operator at other sizes");
    }
    TW_ASSIGN_OR_RETURN(auto shape, Between(small.type.shape, large.type.shape));
    TensorType type{std::move(shape), small.type.dtype};
    if (std::ranges::any_of(type.shape, [](std::int64_t extent) { return extent < 1; })) {
      return Unsupported(fmt::format("has no elements with {}", size_));
    }
    if (small.kind == NodeKind::kInput) {
      made_.AddInput(small.name, std::move(type));
      return Status();
    }
    return small.kind == NodeKind::kConstant ? AddConstant(id, std::move(type))
                                             : AddOperator(id, type);
  }

  Status AddOperator(int id, const TensorType& type) {
    const Node &small = small_.node(id), &large = large_.node(id);
    if (!(WithoutSizes(small.op) == WithoutSizes(large.op))) {
      return Unsupported("has attributes that depend on it");
    }
    Operator op = small.op;
    for (const auto sizes : kSizeAttributes) {
      TW_ASSIGN_OR_RETURN(op.attributes.*sizes,
                          Between(small.op.attributes.*sizes, large.op.attributes.*sizes));
    }
    const auto added = made_.AddOperator(small.name, std::move(op), small.inputs);
    if (!added.ok()) {
      return Unsupported(
          fmt::format("does not exist with {}: {}", size_, added.status().message()));
    }
    made_.Annotate(*added, small.source, small.annotation);
    made_.SetSite(*added, small.site);
    if (made_.node(*added).type == type) return Status();
    return Unsupported("is not linear in it");
  }

  Status AddConstant(int id, TensorType type) {
    const Node &small = small_.node(id), &large = large_.node(id);
    const double *fill = small_.Fill(id), *filled = large_.Fill(id);
    if (fill != nullptr && filled != nullptr && *fill == *filled) {
      made_.AddFilledConstant(small.name, std::move(type), *fill);
      return Status();
    }
    const Tensor *few = small_.Contents(id), *many = large_.Contents(id);
    if ((few != nullptr && (many == nullptr || !SameStart(*few, *many))) ||
        !IsStart(small.type.shape, large.type.shape)) {
      return Unsupported("is a constant that depends on it");
    }
    if (many == nullptr || type.elements() > max_elements_) {
      made_.AddConstant(small.name, std::move(type));
      return Status();
    }
    if (type.bytes() > many->bytes()) {
      return Unsupported(fmt::format("is a constant that ends before {}", size_));
    }
    Tensor contents(std::move(type));
    std::memcpy(contents.data(), many->data(), static_cast<std::size_t>(contents.bytes()));
    made_.AddConstant(small.name, std::move(contents));
    return Status();
  }

  const SizedGraphs& graphs_;
  const Graph &small_, &large_;
  std::int64_t size_, max_elements_;
  Graph made_;
};

/// Returns true if the elements of a constant are the first of the larger graph's.
bool SameConstant(const Graph& graph, const Graph& larger, int id) {
  const double *fill = graph.Fill(id), *filled = larger.Fill(id);
  if (fill != nullptr && filled != nullptr) return *fill == *filled;
  const Tensor *few = graph.Contents(id), *many = larger.Contents(id);
  return few == nullptr || many == nullptr ? few == many : SameStart(*few, *many);
}

}  // namespace

void NameRange(const SizeRange& range, Graph& entry) {
  std::erase_if(entry.binding_options, [&](const std::string& option) {
    return option.starts_with("--dim " + range.name + "=");
  });
  entry.binding_options.push_back("--dim " + range.ToString());
}

Status AboutValue(const Graph& graph, int id, const SizeRange& range, const Status& status) {
  if (status.ok() || status.code() != StatusCode::kUnsupported) return status;
  return Unsupported(fmt::format("--dim {}: {} {}; give one size, or several (--dim {}=1,8)",
                                 range.ToString(), Printable(graph.DescribeOrigin(id)),
                                 status.message(), Printable(range.name)));
}

Result<Graph> Resized(const SizedGraphs& graphs, std::int64_t size, std::int64_t max_elements) {
  return Resizer(graphs, size, max_elements).Run();
}

Status CheckResized(const SizedGraphs& graphs, std::int64_t size, const Graph& read) {
  TW_ASSIGN_OR_RETURN(const auto expected, Resized(graphs, size, 0));
  if (expected.size() != read.size() || expected.outputs() != read.outputs()) {
    return Unsupported(fmt::format("--dim {}: the network has other operators with {}",
                                   graphs.range->ToString(), size));
  }
  for (int id = 0; id < expected.size(); ++id) {
    const Node &a = expected.node(id), &b = read.node(id);
    if (a.kind == b.kind && a.name == b.name && a.inputs == b.inputs && a.type == b.type &&
        (a.kind != NodeKind::kOperator || a.op == b.op) &&
        (a.kind != NodeKind::kConstant || SameConstant(read, *graphs.large, id))) {
      continue;
    }
    const char* what = a.kind == NodeKind::kConstant ? "constant" : "operator";
    return AboutValue(read, id, *graphs.range,
                      Unsupported(fmt::format("is another {} with {}", what, size)));
  }
  return Status();
}

}  // namespace tilewright
