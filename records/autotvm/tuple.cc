// AutoTVM identifies a workload by a Python tuple: the task name, then the arguments of its compute
// function. The table below lists those arguments; tensors are ('TENSOR', shape, dtype).
#include "records/autotvm/tuple.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "src/target/device.h"
#include "src/tensor/layout.h"
#include "src/tensor/text_scanner.h"

namespace tilewright::records {
namespace {

constexpr std::size_t kMaxTupleText = 8000;
constexpr int kMaxDepth = 8;
constexpr std::int64_t kMaxTupleSize = std::int64_t{1} << 31;

/// Argument list of a task.
enum class Form : std::uint8_t {
  kNchwc,            // strides padding dilation layout out_layout dtype
  kPlain,            // strides padding dilation dtype
  kPlainLayout,      // strides padding dilation layout dtype
  kGroup,            // strides padding dilation groups dtype
  kLibrary,          // strides padding dilation groups layout dtype
  kTranspose,        // strides padding dtype output_padding
  kPacked,           // as kPlainLayout, 6-D shapes
  kPackedGroup,      // as kGroup, 6-D shapes
  kPackedTranspose,  // as kTranspose, 6-D shapes
  kDense,            // bias dtype
  kPackedDense,      // as kDense, 4-D shapes
  kBatchMatmul,      // [out_shape ...]
  kPackedAdd,        // no arguments, 6-D shapes
  kPackedMultiply,   // as kPackedAdd
};

struct TaskName {
  std::string_view name;
  Form form;
  std::string_view op;  // op_name() of its operator
};

constexpr std::array kTaskNames = {
    TaskName{"conv2d_NCHWc.x86", Form::kNchwc, "conv2d"},
    TaskName{"conv2d_NCHWc_int8.x86", Form::kNchwc, "conv2d"},
    TaskName{"conv2d_NCHWc.intel_graphics", Form::kNchwc, "conv2d"},
    TaskName{"depthwise_conv2d_NCHWc.x86", Form::kNchwc, "depthwise_conv2d"},
    TaskName{"conv2d_nchw.cuda", Form::kPlain, "conv2d"},
    TaskName{"conv2d_nchw_winograd.cuda", Form::kPlain, "conv2d"},
    TaskName{"conv2d_nchw_spatial_pack.arm_cpu", Form::kPlain, "conv2d"},
    TaskName{"conv2d_nchw_winograd.arm_cpu", Form::kPlain, "conv2d"},
    TaskName{"conv2d_nchw_spatial_pack.mali", Form::kPlain, "conv2d"},
    TaskName{"conv2d_nchw_winograd.mali", Form::kPlain, "conv2d"},
    TaskName{"conv2d_nchwc.image2d", Form::kPlain, "conv2d"},
    TaskName{"conv2d_nchw_winograd.image2d", Form::kPlain, "conv2d"},
    TaskName{"depthwise_conv2d_nchw.cuda", Form::kPlain, "depthwise_conv2d"},
    TaskName{"depthwise_conv2d_nchw.arm_cpu", Form::kPlain, "depthwise_conv2d"},
    TaskName{"depthwise_conv2d_nchw.mali", Form::kPlain, "depthwise_conv2d"},
    TaskName{"depthwise_conv2d_nchwc.image2d", Form::kPlain, "depthwise_conv2d"},
    TaskName{"conv2d_NCHWc_int8.cuda", Form::kPlainLayout, "conv2d"},
    TaskName{"group_conv2d_nchw.cuda", Form::kGroup, "group_conv2d"},
    TaskName{"conv2d_cudnn.cuda", Form::kLibrary, ""},
    TaskName{"conv2d_transpose_nchw.cuda", Form::kTranspose, "conv2d_transpose"},
    TaskName{"conv2d_transpose_nchw.arm_cpu", Form::kTranspose, "conv2d_transpose"},
    TaskName{"conv2d_transpose_nchw.x86", Form::kTranspose, "conv2d_transpose"},
    TaskName{"conv2d_packed.vta", Form::kPacked, "conv2d"},
    TaskName{"group_conv2d_packed.vta", Form::kPackedGroup, "group_conv2d"},
    TaskName{"conv2d_transpose_packed.vta", Form::kPackedTranspose, "conv2d_transpose"},
    TaskName{"dense_nopack.x86", Form::kDense, "dense"},
    TaskName{"dense_pack.x86", Form::kDense, "dense"},
    TaskName{"dense.mali", Form::kDense, "dense"},
    TaskName{"dense_small_batch.gpu", Form::kDense, "dense"},
    TaskName{"dense_small_batch.cuda", Form::kDense, "dense"},
    TaskName{"dense_large_batch.gpu", Form::kDense, "dense"},
    TaskName{"dense_large_batch.cuda", Form::kDense, "dense"},
    TaskName{"dense_int8.cuda", Form::kDense, "dense"},
    TaskName{"dense_packed.vta", Form::kPackedDense, "dense"},
    TaskName{"batch_matmul.x86", Form::kBatchMatmul, "batch_matmul"},
    TaskName{"batch_matmul.cuda", Form::kBatchMatmul, "batch_matmul"},
    TaskName{"add.vta", Form::kPackedAdd, "add"},
    TaskName{"multiply.vta", Form::kPackedMultiply, "mul"},
};

const TaskName* FindTask(std::string_view name) {
  for (const TaskName& task : kTaskNames) {
    if (task.name == name) return &task;
  }
  return nullptr;
}

// ---- Writing

template <typename Numbers>
std::string Tuple(const Numbers& numbers) {
  return fmt::format("({}{})", fmt::join(numbers, ", "), numbers.size() == 1 ? "," : "");
}

std::string TensorText(const TensorType& type) {
  return fmt::format("('TENSOR', {}, '{}')", Tuple(type.shape), DataTypeName(type.dtype));
}

/// Returns true if the layout has these dimensions in this order, blocked or not.
bool HasPrimal(const Layout& layout, std::string_view primal) { return layout.primal() == primal; }

/// Returns the workload in plain NCHW and OIHW (IOHW when transposed) shapes.
Result<Workload> Unblocked(const Workload& w) {
  const std::string_view kernel = w.op == OpKind::kConv2dTranspose ? "IOHW" : "OIHW";
  TW_ASSIGN_OR_RETURN(auto data, Layout::Parse(w.data_layout));
  TW_ASSIGN_OR_RETURN(auto weight, Layout::Parse(w.kernel_layout));
  if (!HasPrimal(data, "NCHW") || !HasPrimal(weight, kernel) || data.BlockOf('N') != 1) {
    return Unsupported(fmt::format("layouts {} and {}, expected blocks of NCHW and {}",
                                   w.data_layout, w.kernel_layout, kernel));
  }
  Workload plain = w;
  plain.data.shape = data.Unpack(w.data.shape);
  plain.weight.shape = weight.Unpack(w.weight.shape);
  plain.data_layout = "NCHW";
  plain.kernel_layout = kernel;
  return plain;
}

/// Returns the arguments after data and weight.
Result<std::vector<std::string>> ArgumentTexts(const Workload& w, Form form) {
  const std::string strides = Tuple(w.strides), padding = Tuple(w.padding);
  const std::string dilation = Tuple(w.dilation), groups = fmt::format("{}", w.groups);
  const std::string dtype = fmt::format("'{}'", DataTypeName(w.out_dtype));
  const std::string layout = fmt::format("'{}'", w.data_layout);
  using Texts = std::vector<std::string>;
  switch (form) {
    case Form::kNchwc:
      return Texts{strides, padding, dilation, layout, layout, dtype};
    case Form::kPlain:
      return Texts{strides, padding, dilation, dtype};
    case Form::kPacked:
    case Form::kPlainLayout:
      return Texts{strides, padding, dilation, layout, dtype};
    case Form::kPackedGroup:
    case Form::kGroup:
      return Texts{strides, padding, dilation, groups, dtype};
    case Form::kLibrary:
      return Texts{strides, padding, dilation, groups, layout, dtype};
    case Form::kPackedTranspose:
    case Form::kTranspose:
      if (w.groups != 1 || w.dilation != std::array<std::int64_t, 2>{1, 1}) {
        return Unsupported("a transposed convolution with groups or dilation has no tuple");
      }
      return Texts{strides, padding, dtype, Tuple(w.output_padding)};
    case Form::kPackedDense:
    case Form::kDense:
      return Texts{"None", dtype};
    case Form::kBatchMatmul:
    case Form::kPackedAdd:
    case Form::kPackedMultiply:
      return Texts{};
  }
  return Texts{};
}

bool IsElementwise(Form form) { return form == Form::kPackedAdd || form == Form::kPackedMultiply; }

bool IsPacked(Form form) {
  return form == Form::kPacked || form == Form::kPackedGroup || form == Form::kPackedTranspose ||
         form == Form::kPackedDense || IsElementwise(form);
}

/// Sets the layouts of a packed form whose shapes end in these blocks.
void SetPackedLayouts(Workload& w, Form form) {
  const auto& data = w.data.shape;
  const auto& weight = w.weight.shape;
  const std::size_t d = data.size() - 2, k = weight.size() - 2;
  if (form == Form::kPackedDense) {
    w.data_layout = fmt::format("MK{}m{}k", data[d], data[d + 1]);
    w.kernel_layout = fmt::format("NK{}n{}k", weight[k], weight[k + 1]);
    return;
  }
  w.data_layout = fmt::format("NCHW{}n{}c", data[d], data[d + 1]);
  if (IsElementwise(form)) {
    w.kernel_layout = w.data_layout;
    return;
  }
  // Also for a transposed convolution, whose layout AutoTVM calls IOHW.
  w.kernel_layout = fmt::format("OIHW{}o{}i", weight[k], weight[k + 1]);
}

// ---- Reading

/// Python literal: a tuple or list, a number, a string, True, False or None.
struct Literal {
  enum class Kind : std::uint8_t { kNone, kInt, kText, kTuple } kind = Kind::kNone;
  std::int64_t number = 0;
  std::string text;
  std::vector<Literal> items;
};

Result<Literal> ReadLiteral(TextScanner& scanner, int depth);

Result<Literal> ReadTuple(TextScanner& scanner, std::string_view close, int depth) {
  if (depth == kMaxDepth) return scanner.Error("at most 8 nested tuples");
  Literal literal;
  literal.kind = Literal::Kind::kTuple;
  scanner.SkipSpaces();
  while (!scanner.Accept(close)) {
    TW_ASSIGN_OR_RETURN(auto item, ReadLiteral(scanner, depth + 1));
    literal.items.push_back(std::move(item));
    scanner.SkipSpaces();
    if (scanner.Accept(",")) {
      scanner.SkipSpaces();
      continue;
    }
    TW_RETURN_IF_ERROR(scanner.Expect(close));
    break;
  }
  return literal;
}

Result<Literal> ReadLiteral(TextScanner& scanner, int depth) {
  scanner.SkipSpaces();
  if (scanner.Accept("(")) return ReadTuple(scanner, ")", depth);
  if (scanner.Accept("[")) return ReadTuple(scanner, "]", depth);
  Literal literal;
  for (const std::string_view quote : {"'", "\""}) {
    if (!scanner.Accept(quote)) continue;
    literal.kind = Literal::Kind::kText;
    literal.text = std::string(scanner.Until(quote));
    TW_RETURN_IF_ERROR(scanner.Expect(quote));
    return literal;
  }
  if (scanner.Accept("None")) return literal;
  literal.kind = Literal::Kind::kInt;
  if (scanner.Accept("True")) {
    literal.number = 1;
    return literal;
  }
  if (scanner.Accept("False")) return literal;
  auto number = scanner.Int();
  if (!number.ok()) return scanner.Error("a tuple, a string, an integer or None");
  literal.number = *number;
  return literal;
}

/// Reader of the arguments in order.
class ArgumentReader {
 public:
  ArgumentReader(const Literal& tuple, std::string_view text) : items_(tuple.items), text_(text) {}

  Result<TensorType> Tensor() {
    const Literal* item = Next();
    if (item == nullptr || item->items.size() != 3 || item->items[0].text != "TENSOR") {
      return Bad("a tensor");
    }
    TensorType type;
    for (const Literal& size : item->items[1].items) {
      const bool in_range = size.number >= 0 && size.number <= kMaxTupleSize;
      if (size.kind != Literal::Kind::kInt || !in_range) return Bad("a tensor of integer sizes");
      type.shape.push_back(size.number);
    }
    TW_ASSIGN_OR_RETURN(type.dtype, ParseDataType(item->items[2].text));
    return type;
  }

  /// Reads kCount numbers; repeats them if there are fewer (one number, or half of them).
  template <std::size_t kCount>
  Status Numbers(std::array<std::int64_t, kCount>& numbers) {
    const Literal* item = Next();
    if (item == nullptr) return Bad("integers");
    const std::span<const Literal> items =
        item->kind == Literal::Kind::kTuple ? std::span(item->items) : std::span(item, 1);
    if (items.empty() || kCount % items.size() != 0) return Bad(fmt::format("{} integers", kCount));
    for (std::size_t i = 0; i < kCount; ++i) {
      const Literal& number = items[i % items.size()];
      if (number.kind != Literal::Kind::kInt) return Bad("integers");
      numbers[i] = number.number;
    }
    return {};
  }

  Status Text(std::string& text) {
    const Literal* item = Next();
    if (item == nullptr || item->kind != Literal::Kind::kText) return Bad("a string");
    text = item->text;
    return {};
  }

  /// Skips the next item if it is this string.
  void SkipText(std::string_view text) {
    const bool same = next_ < items_.size() && items_[next_].kind == Literal::Kind::kText;
    if (same && items_[next_].text == text) ++next_;
  }

  /// Reads an element type, or None: the type follows from the inputs.
  Status OutDtype(Workload& w) {
    const Literal* item = Next();
    w.out_dtype = w.data.dtype.is_float() ? w.data.dtype : kInt32;
    if (item != nullptr && item->kind == Literal::Kind::kNone) return {};
    if (item == nullptr || item->kind != Literal::Kind::kText) return Bad("an element type");
    TW_ASSIGN_OR_RETURN(w.out_dtype, ParseDataType(item->text));
    return {};
  }

  const Literal* Next() { return next_ < items_.size() ? &items_[next_++] : nullptr; }
  bool AtEnd() const { return next_ == items_.size(); }
  Status Bad(std::string_view expected) const {
    return InvalidArgument(
        fmt::format("workload tuple '{}': item {}: expected {}", text_, next_, expected));
  }

 private:
  const std::vector<Literal>& items_;
  std::string_view text_;
  std::size_t next_ = 1;  // after the task name
};

Status ReadConvolution(ArgumentReader& reader, Form form, Workload& w) {
  TW_RETURN_IF_ERROR(reader.Numbers(w.strides));
  TW_RETURN_IF_ERROR(reader.Numbers(w.padding));
  if (w.op == OpKind::kConv2dTranspose) {
    TW_RETURN_IF_ERROR(reader.OutDtype(w));
    return reader.AtEnd() ? Status() : reader.Numbers(w.output_padding);
  }
  TW_RETURN_IF_ERROR(reader.Numbers(w.dilation));
  const bool has_groups =
      form == Form::kGroup || form == Form::kLibrary || form == Form::kPackedGroup;
  if (has_groups) {
    std::array<std::int64_t, 1> groups{};
    TW_RETURN_IF_ERROR(reader.Numbers(groups));
    w.groups = groups[0];
  }
  std::string layout;
  if (form == Form::kNchwc) {
    TW_RETURN_IF_ERROR(reader.Text(layout));
    TW_RETURN_IF_ERROR(reader.Text(layout));
  }
  const bool has_layout =
      form == Form::kLibrary || form == Form::kPlainLayout || form == Form::kPacked;
  if (has_layout) {
    TW_RETURN_IF_ERROR(reader.Text(layout));
    if (layout != w.data_layout) return reader.Bad(fmt::format("layout '{}'", w.data_layout));
    // Some logs also contain the output's layout.
    if (form == Form::kPacked) reader.SkipText(layout);
  }
  return reader.OutDtype(w);
}

/// In a depthwise tuple the weight is [channels, multiplier, kh, kw] and the groups are implied.
void SetDepthwise(Workload& w) {
  auto& shape = w.weight.shape;
  w.groups = shape[0];
  shape[0] *= shape[1];
  shape[1] = 1;
}

OpKind KindOf(Form form) {
  switch (form) {
    case Form::kTranspose:
    case Form::kPackedTranspose:
      return OpKind::kConv2dTranspose;
    case Form::kDense:
    case Form::kPackedDense:
      return OpKind::kDense;
    case Form::kBatchMatmul:
      return OpKind::kBatchMatmul;
    case Form::kPackedAdd:
      return OpKind::kAdd;
    case Form::kPackedMultiply:
      return OpKind::kMul;
    default:
      return OpKind::kConv2d;
  }
}

std::size_t RankOf(Form form) {
  switch (form) {
    case Form::kDense:
      return 2;
    case Form::kBatchMatmul:
      return 3;
    case Form::kPacked:
    case Form::kPackedGroup:
    case Form::kPackedTranspose:
    case Form::kPackedAdd:
    case Form::kPackedMultiply:
      return 6;
    default:
      return 4;
  }
}

void SetLayouts(Workload& w, Form form) {
  switch (w.op) {
    case OpKind::kDense:
      w.data_layout = "MK", w.kernel_layout = "NK";
      break;
    case OpKind::kBatchMatmul:
      w.data_layout = "BMK", w.kernel_layout = "BNK";
      break;
    case OpKind::kConv2dTranspose:
      w.data_layout = "NCHW", w.kernel_layout = "IOHW";
      break;
    default:
      w.data_layout = "NCHW", w.kernel_layout = "OIHW";
      break;
  }
  if (IsPacked(form)) SetPackedLayouts(w, form);
}

bool IsConvolution(const Workload& w) {
  return w.op == OpKind::kConv2d || w.op == OpKind::kConv2dTranspose;
}

bool IsOfBytes(const Workload& w) { return w.data.dtype.bits == 8 && w.data.dtype.is_integer(); }

/// Returns AutoTVM's name of the template for a workload, in one family of its templates: for
/// processors, for CUDA, for the VTA. Empty for none.
std::string NameOnVta(const Workload& w, const Target& /*target*/) {
  if (w.op == OpKind::kAdd) return "add.vta";
  return w.op == OpKind::kMul ? "multiply.vta" : w.op_name() + "_packed.vta";
}

/// Returns AutoTVM's name of its own template for Mali or Intel graphics; empty for none.
std::string NameOnOpenCl(const Workload& w, const Target& target) {
  const std::string op = w.op_name();
  const auto has = [&](std::string_view key) { return std::ranges::count(target.keys(), key) > 0; };
  if (has("intel_graphics") && op == "conv2d") return "conv2d_NCHWc.intel_graphics";
  if (!has("mali")) return "";
  if (w.op == OpKind::kDense) return "dense.mali";
  if (op == "conv2d") return "conv2d_nchw_spatial_pack.mali";
  return op == "depthwise_conv2d" ? "depthwise_conv2d_nchw.mali" : "";
}

std::string NameOnCuda(const Workload& w, const Target& target) {
  const std::string op = w.op_name();
  if (std::string name = NameOnOpenCl(w, target); !name.empty()) return name;
  // 32: the batch from which AutoTVM selects its large-batch template.
  if (w.op == OpKind::kDense) {
    return w.data.shape[0] < 32 ? "dense_small_batch.gpu" : "dense_large_batch.gpu";
  }
  if (w.op == OpKind::kBatchMatmul) return "batch_matmul.cuda";
  if (!IsConvolution(w)) return "";
  if (target.Option("libs").find("cudnn") != std::string::npos && op != "conv2d_transpose") {
    return "conv2d_cudnn.cuda";
  }
  if (op == "conv2d") return IsOfBytes(w) ? "conv2d_NCHWc_int8.cuda" : "conv2d_nchw.cuda";
  return op + "_nchw.cuda";
}

std::string NameOnCpu(const Workload& w, const Target& target) {
  const std::string op = w.op_name();
  if (std::ranges::count(target.keys(), "arm_cpu") > 0) {
    if (!IsConvolution(w) || op == "group_conv2d") return "";
    return op == "conv2d" ? "conv2d_nchw_spatial_pack.arm_cpu" : op + "_nchw.arm_cpu";
  }
  if (w.op == OpKind::kDense) return "dense_nopack.x86";
  if (w.op == OpKind::kBatchMatmul) return "batch_matmul.x86";
  if (op == "conv2d") return IsOfBytes(w) ? "conv2d_NCHWc_int8.x86" : "conv2d_NCHWc.x86";
  if (op == "depthwise_conv2d") return "depthwise_conv2d_NCHWc.x86";
  return op == "conv2d_transpose" ? "conv2d_transpose_nchw.x86" : "";
}

struct Family {
  std::string_view name;
  std::string (*name_of)(const Workload&, const Target&);
};

}  // namespace

Workload StripForAutotvm(Workload workload) {
  workload.reduced_range_weights = false;
  return workload;
}

bool IsAutotvmTask(std::string_view task_name) { return FindTask(task_name) != nullptr; }

Result<std::string> AutotvmTuple(const Workload& workload, std::string_view task_name) {
  const TaskName* task = FindTask(task_name);
  if (task == nullptr) return Unsupported(fmt::format("unknown task '{}'", task_name));
  if (workload.reduced_range_weights) {
    return Unsupported("AutoTVM has no task of narrow weights (w64)");
  }
  if (KindOf(task->form) != workload.op || (!task->op.empty() && task->op != workload.op_name())) {
    return Unsupported(fmt::format("task '{}' does not serve {}", task_name, workload.op_name()));
  }
  Workload w = workload;
  if (IsPacked(task->form)) {
    if (workload.data.shape.size() != RankOf(task->form) ||
        workload.weight.shape.size() != RankOf(task->form)) {
      return Unsupported(fmt::format("task '{}' does not take layouts {} and {}", task_name,
                                     workload.data_layout, workload.kernel_layout));
    }
    Workload packed = workload;
    SetPackedLayouts(packed, task->form);
    if (packed != workload) {
      return Unsupported(fmt::format("task '{}' takes layouts {} and {}, not {} and {}", task_name,
                                     packed.data_layout, packed.kernel_layout, workload.data_layout,
                                     workload.kernel_layout));
    }
  } else if (workload.op == OpKind::kConv2d || workload.op == OpKind::kConv2dTranspose) {
    auto plain = Unblocked(workload);
    if (!plain.ok()) return plain.status().WithContext(fmt::format("task '{}'", task_name));
    w = *std::move(plain);
  } else {
    Workload plain = workload;
    SetLayouts(plain, task->form);
    if (plain != workload) {
      return Unsupported(fmt::format("task '{}' takes layouts {} and {}, not {} and {}", task_name,
                                     plain.data_layout, plain.kernel_layout, workload.data_layout,
                                     workload.kernel_layout));
    }
  }
  if (IsElementwise(task->form)) w.data.dtype = w.weight.dtype = kInt32;  // as widened
  TW_ASSIGN_OR_RETURN(auto arguments, ArgumentTexts(w, task->form));
  std::string text =
      fmt::format("('{}', {}, {}", task_name, TensorText(w.data), TensorText(w.weight));
  for (const std::string& argument : arguments) text += ", " + argument;
  return text + ")";
}

Result<Workload> ParseAutotvmTuple(std::string_view text) {
  TextScanner scanner("workload tuple", text);
  if (text.size() > kMaxTupleText) return scanner.Error("at most 8000 characters");
  TW_ASSIGN_OR_RETURN(auto tuple, ReadLiteral(scanner, 0));
  scanner.SkipSpaces();
  if (!scanner.AtEnd()) return scanner.Error("the end");
  if (tuple.items.empty() || tuple.items[0].kind != Literal::Kind::kText) {
    return InvalidArgument(fmt::format("workload tuple '{}': item 0: expected a task name", text));
  }
  const TaskName* task = FindTask(tuple.items[0].text);
  if (task == nullptr) {
    return InvalidArgument(
        fmt::format("workload tuple '{}': unknown task '{}'", text, tuple.items[0].text));
  }
  ArgumentReader reader(tuple, text);
  Workload w;
  w.op = KindOf(task->form);
  for (TensorType* type : {&w.data, &w.weight}) {
    TW_ASSIGN_OR_RETURN(auto tensor, reader.Tensor());
    *type = std::move(tensor);
    if (type->shape.size() != RankOf(task->form)) {
      return reader.Bad(fmt::format("a tensor of {} dimensions", RankOf(task->form)));
    }
  }
  SetLayouts(w, task->form);
  if (task->op == "depthwise_conv2d") SetDepthwise(w);
  w.out_dtype = w.data.dtype.is_float() ? w.data.dtype : kInt32;
  if (w.op == OpKind::kConv2d || w.op == OpKind::kConv2dTranspose) {
    TW_RETURN_IF_ERROR(ReadConvolution(reader, task->form, w));
  } else if (w.op == OpKind::kDense) {
    reader.Next();  // the bias: not part of the workload
    TW_RETURN_IF_ERROR(reader.OutDtype(w));
  } else if (w.op == OpKind::kBatchMatmul) {
    while (reader.Next() != nullptr) {
    }  // the output's shape and type follow from the inputs
  }
  if (!reader.AtEnd()) return reader.Bad("no further item");
  const std::array inputs{w.data, w.weight};
  const auto type = IsAnchor(w.op) ? InferType(w.ToOperator(), inputs) : w.OutputType();
  if (!type.ok()) {
    return type.status().WithContext(fmt::format("workload tuple '{}'", text));
  }
  return w;
}

std::string AutotvmName(const Workload& workload, const Target& target) {
  static constexpr std::array kFamilies = {Family{"cpu", &NameOnCpu}, Family{"cuda", &NameOnCuda},
                                           Family{"vta", &NameOnVta}};
  const auto* family =
      std::ranges::find(kFamilies, DeviceTraitsOf(target).autotvm_family, &Family::name);
  const std::string name = family == kFamilies.end() ? "" : family->name_of(workload, target);
  // A name is valid only if that template can express the workload.
  return AutotvmTuple(StripForAutotvm(workload), name).ok() ? name : std::string();
}

std::function<std::string(const Workload&)> AutotvmTuplesOn(Target target) {
  return [target = std::move(target)](const Workload& workload) {
    auto tuple = AutotvmTuple(StripForAutotvm(workload), AutotvmName(workload, target));
    return tuple.ok() ? *std::move(tuple) : std::string();
  };
}

}  // namespace tilewright::records
