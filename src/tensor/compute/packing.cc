// Packing of kernel parameters as loop programs: from the tensors of a workload to those that a
// kernel reads, and back for its result.

#include "src/tensor/compute/packing.h"

#include <string>
#include <utility>
#include <vector>

#include "src/tensor/compute/winograd.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

/// Tensor in a layout, as loops access it.
struct PlacedTensor {
  Buffer buffer;
  Layout layout;
  std::vector<std::int64_t> shape;  ///< of the layout's parts
};

Result<PlacedTensor> Place(const char* name, DataType dtype, std::vector<std::int64_t> shape,
                           const std::string& layout) {
  TW_ASSIGN_OR_RETURN(auto parsed, Layout::Parse(layout));
  if (parsed.parts().size() != shape.size()) {
    return InvalidArgument("layout " + layout +
                           " has another number of dimensions than its tensor");
  }
  return PlacedTensor{MakeBuffer(name, dtype, shape), std::move(parsed), std::move(shape)};
}

/// Indices of a loop nest over all parts of a tensor, and the elements of each dimension that they
/// stand for.
struct PartLoops {
  std::vector<Expr> vars;
  std::vector<std::pair<char, Expr>> elements;

  const Expr& Element(char dimension) const {
    for (const auto& [letter, element] : elements) {
      if (letter == dimension) return element;
    }
    TW_CHECK(false, "layouts of the same dimensions");
    return elements.front().second;
  }
};

std::string LowerCase(char letter) { return std::string(1, static_cast<char>(letter - 'A' + 'a')); }

PartLoops LoopsOver(const PlacedTensor& tensor) {
  PartLoops loops;
  const std::vector<std::int64_t> steps = tensor.layout.Steps();
  for (const char letter : tensor.layout.primal()) loops.elements.emplace_back(letter, Expr(0));
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const Layout::Part& part = tensor.layout.parts()[i];
    const Expr var = MakeVar(LowerCase(part.dimension) + (part.block != 0 ? "_block" : ""));
    loops.vars.push_back(var);
    for (auto& [letter, element] : loops.elements) {
      if (letter == part.dimension) element = element + var * Expr(steps[i]);
    }
  }
  return loops;
}

/// Returns the indices of the element that `loops` stands for in another tensor.
std::vector<Expr> IndicesIn(const PlacedTensor& tensor, const PartLoops& loops) {
  std::vector<Expr> indices;
  const std::vector<std::int64_t> steps = tensor.layout.Steps();
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const Layout::Part& part = tensor.layout.parts()[i];
    Expr index = FloorDiv(loops.Element(part.dimension), Expr(steps[i]));
    if (part.block != 0) index = FloorMod(index, Expr(part.block));
    indices.push_back(std::move(index));
  }
  return indices;
}

Stmt Nest(const std::vector<Expr>& vars, const std::vector<std::int64_t>& extents, Stmt body) {
  for (std::size_t i = vars.size(); i-- > 0;) {
    body = MakeFor(vars[i], extents[i], LoopKind::kSerial, std::move(body));
  }
  return body;
}

Program CopyProgram(const Buffer& source, const Buffer& target, Stmt body) {
  return {"pack", {source, target}, 1, std::move(body)};
}

/// Returns loops that copy a tensor into another layout of the same dimensions; zeros for elements
/// of the target that the source lacks.
Program CopyLoops(const PlacedTensor& source, const PlacedTensor& target) {
  const PartLoops loops = LoopsOver(target);
  Expr value = MakeCast(target.buffer->dtype, MakeLoad(source.buffer, IndicesIn(source, loops)));
  const std::vector<std::int64_t> present = source.layout.Unpack(source.shape);
  const std::vector<std::int64_t> wanted = target.layout.Unpack(target.shape);
  const std::string letters = source.layout.primal(), target_letters = target.layout.primal();
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (wanted[target_letters.find(letters[i])] <= present[i]) continue;
    value = MakeSelect(Lt(loops.Element(letters[i]), Expr(present[i])), std::move(value),
                       MakeConst(target.buffer->dtype, 0));
  }
  return CopyProgram(
      source.buffer, target.buffer,
      Nest(loops.vars, target.shape, MakeStore(target.buffer, loops.vars, std::move(value))));
}

/// Returns loops that copy a list and fill the rest of the target with a value.
Program ContinueLoops(DataType dtype, std::int64_t present, std::int64_t wanted, double padding) {
  const Buffer source = MakeBuffer("source", dtype, {present});
  const Buffer target = MakeBuffer("target", dtype, {wanted});
  const Expr i = MakeVar("i");
  return CopyProgram(source, target,
                     Nest({i}, {wanted},
                          MakeStore(target, {i},
                                    MakeSelect(Lt(i, Expr(present)), MakeLoad(source, {i}),
                                               MakeConst(dtype, padding)))));
}

/// Returns loops that compute a compensation: -128 times the sum of each channel's weights, and
/// zeros for channels that pad a block.
Result<Program> CompensationLoops(const Workload& workload, std::int64_t wanted) {
  TW_ASSIGN_OR_RETURN(auto weight, Place("source", workload.weight.dtype, workload.weight.shape,
                                         workload.kernel_layout));
  const char channel = workload.op == OpKind::kDense ? 'N' : 'O';
  const std::string letters = weight.layout.primal();
  const std::vector<std::int64_t> sizes = weight.layout.Unpack(weight.shape);
  const Buffer target = MakeBuffer("target", kInt32, {wanted});
  PartLoops loops;
  std::vector<Expr> inner;
  std::vector<std::int64_t> extents;
  std::int64_t channels = 0;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    loops.elements.emplace_back(letters[i], MakeVar(LowerCase(letters[i])));
    if (letters[i] == channel) {
      channels = sizes[i];
      continue;
    }
    inner.push_back(loops.elements.back().second);
    extents.push_back(sizes[i]);
  }
  const Expr k = loops.Element(channel);
  const auto store = [&](Expr value) { return MakeStore(target, {k}, std::move(value)); };
  const Expr sum = MakeLoad(target, {k});
  Stmt body = MakeBlock(
      {store(MakeInt(kInt32, 0)),
       Nest(inner, extents,
            store(sum + MakeCast(kInt32, MakeLoad(weight.buffer, IndicesIn(weight, loops))))),
       store(sum * MakeInt(kInt32, -128))});
  if (wanted > channels) {
    body = MakeIf(Lt(k, Expr(channels)), std::move(body), store(MakeInt(kInt32, 0)));
  }
  return CopyProgram(weight.buffer, target, Nest({k}, {wanted}, std::move(body)));
}

/// Sets type and layout of the workload's tensor of a parameter that has a layout.
Status SetOwnTensor(const Workload& workload, const KernelParameter& parameter,
                    ParameterPacking& packing) {
  if (parameter.role == ParameterRole::kData) {
    packing.own = workload.data;
    packing.own_layout = workload.data_layout;
  } else if (parameter.role == ParameterRole::kWeight) {
    packing.own = workload.weight;
    packing.own_layout = workload.kernel_layout;
  } else if (parameter.role == ParameterRole::kInput) {
    packing.own = workload.expression.inputs[static_cast<std::size_t>(parameter.operand)].type;
    if (parameter.layout != PlainLayout(packing.own.shape.size())) {
      TW_ASSIGN_OR_RETURN(packing.own.shape, JoinedShape(parameter, packing.own));
    }
    packing.own_layout = PlainLayout(packing.own.shape.size());
  } else {
    TW_ASSIGN_OR_RETURN(packing.own, workload.OutputType());
    TW_ASSIGN_OR_RETURN(packing.own_layout, workload.OutputLayout());
    packing.own.dtype = parameter.type.dtype;
  }
  return {};
}

/// Returns the number of output channels, the elements of a channel operand before it is padded.
Result<std::int64_t> ChannelsOf(const Workload& workload) {
  TW_ASSIGN_OR_RETURN(auto type, workload.OutputType());
  TW_ASSIGN_OR_RETURN(auto text, workload.OutputLayout());
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(text));
  const bool is_matrix = workload.op == OpKind::kDense || workload.op == OpKind::kBatchMatmul;
  const std::size_t at = layout.primal().find(is_matrix ? 'N' : 'C');
  if (at == std::string::npos) return InvalidArgument("layout " + text + " has no channels");
  return layout.Unpack(type.shape)[at];
}

Result<ParameterPacking> PackingOfChannels(const Workload& workload,
                                           const KernelParameter& parameter) {
  ParameterPacking packing;
  const std::int64_t wanted = parameter.type.elements();
  packing.shape = {wanted};
  if (parameter.role == ParameterRole::kCompensation) {
    packing.own = workload.weight;
    packing.own_layout = workload.kernel_layout;
    TW_ASSIGN_OR_RETURN(packing.loops, CompensationLoops(workload, wanted));
    return packing;
  }
  TW_ASSIGN_OR_RETURN(auto channels, ChannelsOf(workload));
  packing.own = {{channels}, parameter.type.dtype};
  if (wanted != channels) {
    packing.loops = ContinueLoops(parameter.type.dtype, channels, wanted, parameter.padding_value);
  }
  return packing;
}

/// Returns the shape in another layout of the same dimensions.
Result<std::vector<std::int64_t>> ShapeIn(const std::string& text, const PlacedTensor& source) {
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(text));
  const std::vector<std::int64_t> sizes = source.layout.Unpack(source.shape);
  std::vector<std::int64_t> primal;
  for (const char letter : layout.primal()) {
    const std::size_t at = source.layout.primal().find(letter);
    if (at == std::string::npos) {
      return InvalidArgument("layout " + text + " has other dimensions than " +
                             source.layout.text());
    }
    primal.push_back(sizes[at]);
  }
  if (primal.size() != sizes.size()) {
    return InvalidArgument("layout " + text + " lacks dimensions of " + source.layout.text());
  }
  return layout.Pack(primal);
}

}  // namespace

Result<ParameterPacking> PackingOf(const Workload& workload, const KernelSignature& signature,
                                   std::size_t number) {
  const KernelParameter& parameter = signature.parameters[number];
  if (parameter.role == ParameterRole::kCompensation || parameter.role == ParameterRole::kChannel) {
    return PackingOfChannels(workload, parameter);
  }
  ParameterPacking packing;
  if (parameter.role == ParameterRole::kBroadcast) {
    packing.own = parameter.type;
    packing.shape = parameter.type.shape;
    return packing;
  }
  TW_RETURN_IF_ERROR(SetOwnTensor(workload, parameter, packing));
  if (parameter.role == ParameterRole::kWeight && signature.layouts.winograd_tile > 0) {
    TW_RETURN_IF_ERROR(CheckWinograd(workload, signature.layouts));
    packing.loops = WinogradWeightLoops(MakeBuffer("source", packing.own.dtype, packing.own.shape),
                                        WinogradKindOf(workload, signature.layouts));
    packing.shape = packing.loops->parameters[1]->shape;
    return packing;
  }
  packing.shape = packing.own.shape;
  const DataType dtype = parameter.type.dtype;
  if (parameter.layout == packing.own_layout && packing.own.dtype == dtype) return packing;
  const bool is_result = parameter.role == ParameterRole::kResult;
  TW_ASSIGN_OR_RETURN(auto own, Place(is_result ? "target" : "source", packing.own.dtype,
                                      packing.own.shape, packing.own_layout));
  TW_ASSIGN_OR_RETURN(packing.shape, ShapeIn(parameter.layout, own));
  TW_ASSIGN_OR_RETURN(
      auto kernels, Place(is_result ? "source" : "target", dtype, packing.shape, parameter.layout));
  packing.loops = is_result ? CopyLoops(kernels, own) : CopyLoops(own, kernels);
  return packing;
}

}  // namespace tilewright
