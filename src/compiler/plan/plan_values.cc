// Values in memory: the layouts that a value is stored in, layout changes that make another one,
// and constants, which are packed at once.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "src/base/hash.h"
#include "src/compiler/plan/plan_builder.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/registry.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

/// Returns the position of an image's rows in a layout whose columns follow directly, both
/// unblocked; -1 if there is none.
std::ptrdiff_t RowsIn(const std::string& layout_text) {
  const auto layout = Layout::Parse(layout_text);
  if (!layout.ok() || layout->BlockOf('H') != 1 || layout->BlockOf('W') != 1) return -1;
  const std::vector<Layout::Part>& parts = layout->parts();
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i].dimension == 'H' && parts[i + 1].dimension == 'W') {
      return static_cast<std::ptrdiff_t>(i);
    }
  }
  return -1;
}

/// Joins the rows of images into one in a layout change that keeps them unblocked on both sides,
/// for longer loops. shape: of the input.
void JoinImage(Operator& op, std::vector<std::int64_t>& shape) {
  const std::ptrdiff_t from = RowsIn(op.attributes.src_layout);
  const std::ptrdiff_t to = RowsIn(op.attributes.dst_layout);
  if (from < 0 || to < 0) return;
  const auto join = [](std::vector<std::int64_t>& sizes, std::ptrdiff_t rows) {
    if (sizes.empty()) return;
    const auto row = sizes.begin() + rows;
    row[1] *= row[0];
    row[0] = 1;
  };
  join(shape, from);
  join(op.attributes.new_shape, to);
}

/// Returns a hash of the size and of some bytes: constants with equal hashes are then compared.
std::uint64_t SampleHash(const Tensor& tensor) {
  constexpr std::size_t kSamples = 256, kBytes = 16;
  const std::string_view bytes(reinterpret_cast<const char*>(tensor.data()),
                               static_cast<std::size_t>(tensor.bytes()));
  std::uint64_t hash = Mix64(bytes.size());
  const std::size_t step = std::max(kBytes, bytes.size() / kSamples);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    hash = Fnv1a64(bytes.substr(at, kBytes), hash);
  }
  return hash;
}

bool SameContents(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.bytes() == b.bytes() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace

int PlanBuilder::AddBuffer(BufferSpace space, std::int64_t bytes, int index) {
  plan_.buffers.push_back({space, bytes, index, 0});
  return static_cast<int>(plan_.buffers.size()) - 1;
}

int PlanBuilder::AddConstant(const std::string& key, Tensor contents) {
  const std::uint64_t hash = SampleHash(contents);
  const auto [first, last] = constants_by_hash_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    const int index = plan_.buffers[static_cast<std::size_t>(entry->second)].index;
    if (!SameContents(plan_.constants[static_cast<std::size_t>(index)], contents)) continue;
    constant_buffers_.emplace(key, entry->second);
    return entry->second;
  }
  const int buffer =
      AddBuffer(BufferSpace::kConstant, contents.bytes(), static_cast<int>(plan_.constants.size()));
  plan_.constants.push_back(std::move(contents));
  constants_by_hash_.emplace(hash, buffer);
  constant_buffers_.emplace(key, buffer);
  return buffer;
}

bool PlanBuilder::IsTable(int node) const {
  return TablesOf(options_).contains(graph_.node(node).name);
}

void PlanBuilder::Store(int node, const PhysicalLayout& layouts, int buffer) {
  stored_[static_cast<std::size_t>(node)].push_back({layouts, buffer});
}

Status PlanBuilder::AddInputs() {
  const std::vector<int> inputs = graph_.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t bytes = graph_.node(inputs[i]).type.bytes();
    Store(inputs[i], PhysicalLayout(), AddBuffer(BufferSpace::kInput, bytes, static_cast<int>(i)));
  }
  return Status();
}

const PlanBuilder::Stored* PlanBuilder::Find(int node, const PhysicalLayout& layouts) const {
  for (const Stored& stored : stored_[static_cast<std::size_t>(node)]) {
    if (layouts.is_logical() || stored.layouts.is_logical()) {
      if (layouts.is_logical() && stored.layouts.is_logical()) return &stored;
      continue;
    }
    if (stored.layouts.logical_layout == layouts.logical_layout &&
        SameBytes(graph_.node(node).type, layouts.logical_layout, stored.layouts.layout,
                  layouts.layout)) {
      return &stored;
    }
  }
  return nullptr;
}

Result<int> PlanBuilder::BufferOf(int node, const PhysicalLayout& layouts) {
  if (graph_.node(node).kind == NodeKind::kConstant) {
    TW_ASSIGN_OR_RETURN(auto shape, MemoryShape(graph_.node(node).type, layouts));
    return PackConstant(node, layouts, shape);
  }
  if (const Stored* stored = Find(node, layouts)) return stored->buffer;
  if (const auto view = views_.find(node); view != views_.end()) {
    TW_ASSIGN_OR_RETURN(auto buffer, BufferOf(view->second, PhysicalLayout()));
    views_.erase(node);
    Store(node, PhysicalLayout(), buffer);
    return BufferOf(node, layouts);
  }
  return TransformTo(node, layouts);
}

/// Starts from the logical layout if it is stored, else directly, else by way of the logical
/// layout.
Result<int> PlanBuilder::TransformTo(int node, const PhysicalLayout& layouts) {
  const TensorType& type = graph_.node(node).type;
  if (const Stored* logical_layout = Find(node, PhysicalLayout())) {
    Stored from = *logical_layout;
    from.layouts.logical_layout = layouts.logical_layout;
    return AddTransform(node, from, layouts);
  }
  const auto stored = stored_[static_cast<std::size_t>(node)];
  for (const Stored& from : stored) {
    const PhysicalLayout wanted =
        layouts.is_logical() ? PhysicalLayout{from.layouts.logical_layout, {}} : layouts;
    if (TransformBetween(type, from.layouts, wanted).ok()) return AddTransform(node, from, wanted);
  }
  if (stored.empty() || layouts.is_logical()) {
    return Internal("value " + graph_.node(node).name + " is in no form to start from");
  }
  TW_RETURN_IF_ERROR(BufferOf(node, PhysicalLayout()));
  return TransformTo(node, layouts);
}

Result<int> PlanBuilder::AddTransform(int node, const Stored& from, const PhysicalLayout& to) {
  const TensorType& type = graph_.node(node).type;
  TW_ASSIGN_OR_RETURN(auto op, TransformBetween(type, from.layouts, to));
  TW_ASSIGN_OR_RETURN(auto from_shape, MemoryShape(type, from.layouts));
  TW_ASSIGN_OR_RETURN(auto to_shape, MemoryShape(type, to));
  TensorType input{from_shape, type.dtype};
  if (PositionsOf(options_) == nullptr) JoinImage(op, input.shape);
  TW_ASSIGN_OR_RETURN(auto compute, DefineOperator(op, std::span(&input, 1)));
  TW_ASSIGN_OR_RETURN(auto schedule, FixedSchedule(std::move(compute), options_.target));
  TW_ASSIGN_OR_RETURN(auto program, Lower(schedule, "kernel"));
  PlanStep step;
  step.action = KernelStep{.kernel = AddKernel(std::move(program), "layout_transform")};
  step.layouts = to;
  step.result_bytes = TensorType{to_shape, type.dtype}.bytes();
  step.report.op = "layout_transform";
  const int buffer = AddBuffer(BufferSpace::kArena, step.result_bytes);
  Store(node, to, buffer);
  AddStep(std::move(step), node, {from.buffer, buffer});
  ++plan_.transforms;
  return buffer;
}

/// shape: as the reader indexes it; has as many elements as the constant in these layouts.
Result<int> PlanBuilder::PackConstant(int node, const PhysicalLayout& layouts,
                                      const std::vector<std::int64_t>& shape) {
  const std::string key = fmt::format("{} {} {}", node, layouts.logical_layout, layouts.layout);
  if (auto known = constant_buffers_.find(key); known != constant_buffers_.end()) {
    return known->second;
  }
  const Tensor* contents = graph_.Contents(node);
  if (contents == nullptr) {
    return InvalidArgument("constant " + graph_.node(node).name + " has no contents");
  }
  if (IsTable(node)) {
    if (!layouts.is_logical()) return Unsupported("a constant of positions in another layout");
    const int buffer = AddBuffer(BufferSpace::kConstant, contents->bytes(),
                                 static_cast<int>(plan_.constants.size()));
    plan_.constants.push_back(contents->Clone());
    plan_.tables.emplace(buffer, node);
    constant_buffers_.emplace(key, buffer);
    return buffer;
  }
  Tensor packed = contents->Clone();
  if (!layouts.is_logical()) {
    // A constant that broadcasts has fewer dimensions than its layout.
    TW_ASSIGN_OR_RETURN(auto logical_layout, Layout::Parse(layouts.logical_layout));
    std::vector<std::int64_t> padded(logical_layout.parts().size(), 1);
    if (padded.size() < packed.shape().size()) return Unsupported("constant of more dimensions");
    std::ranges::copy(packed.shape(), padded.end() - static_cast<int>(packed.shape().size()));
    packed.Reshape(std::move(padded));
    TW_ASSIGN_OR_RETURN(packed, TransformLayout(packed, layouts.logical_layout, layouts.layout));
  }
  if (Product(shape) != packed.elements()) return Unsupported("constant of another size");
  return AddConstant(key, std::move(packed));
}

int PlanBuilder::AddKernel(Program program, const std::string& op) {
  program.name = "kernel";
  const std::string code = ToString(program);
  const auto known = kernel_numbers_.find(code);
  if (known != kernel_numbers_.end()) return known->second;
  const int number = static_cast<int>(plan_.kernels.size());
  program.name = fmt::format("{}_{}_{}", options_.name, number, op);
  plan_.kernels.push_back(std::move(program));
  kernel_numbers_.emplace(code, number);
  return number;
}

/// operands: buffers of all parameters, the result last.
void PlanBuilder::AddStep(PlanStep step, int node, const std::vector<int>& operands) {
  step.node = node;
  step.buffers = operands;
  OperatorReport& report = step.report;
  report.value = graph_.node(node).name;
  report.layout = step.layouts.layout;
  if (const KernelStep* kernel = step.kernel()) report.kernel = plan_.KernelOf(*kernel).name;
  const std::set<int> distinct(operands.begin(), operands.end());
  for (int buffer : distinct) report.bytes += plan_.buffers[static_cast<std::size_t>(buffer)].bytes;
  plan_.steps.push_back(std::move(step));
}

}  // namespace tilewright
