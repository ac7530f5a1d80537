// Statements of a launch as OpenCL C. Indices of grid and block are constants at the top, local
// arrays are declared there too, because the language allows them only in the outermost block.

#include "src/codegen/opencl/kernel_writer.h"

#include <algorithm>
#include <cctype>

#include "src/base/math.h"
#include "src/ir/index_width.h"
#include "src/ir/visit.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/intrinsics.h"

namespace tilewright::opencl {
namespace {

/// Names that a buffer or loop can have and that mean something in OpenCL C.
constexpr const char* kReserved[] = {
    "bool",   "char",      "const",      "constant", "do",    "dot",    "double", "exp",
    "fabs",   "float",     "floor",      "fma",      "for",   "global", "half",   "if",
    "image",  "inline",    "int",        "kernel",   "local", "log",    "long",   "max",
    "min",    "pow",       "private",    "return",   "round", "select", "short",  "sign",
    "signed", "sin",       "cos",        "sqrt",     "step",  "tan",    "uchar",  "uint",
    "ulong",  "unsigned",  "ushort",     "barrier",  "clamp", "mix",    "vload",  "void",
    "while",  "read_only", "write_only", "event",    "all",   "any"};

struct IndexRow {
  LoopKind loop;
  const char* function;
};
constexpr IndexRow kIndices[] = {
    {LoopKind::kBlockX, "get_group_id(0)"},  {LoopKind::kBlockY, "get_group_id(1)"},
    {LoopKind::kBlockZ, "get_group_id(2)"},  {LoopKind::kThreadX, "get_local_id(0)"},
    {LoopKind::kThreadY, "get_local_id(1)"}, {LoopKind::kThreadZ, "get_local_id(2)"}};

std::int64_t Attribute(const Stmt& stmt, const char* name, std::int64_t fallback) {
  const auto found = stmt->attributes.find(name);
  return found == stmt->attributes.end() ? fallback : found->second;
}

bool IsWide(const Program& part) {
  // As in other code for grids: half the range of 32 bits.
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
  return LeavesInt32(part.body) || std::ranges::any_of(part.parameters, [](const Buffer& buffer) {
           return buffer->bytes() > kMaxBytes;
         });
}

bool Writes(const Stmt& stmt, const BufferNode& buffer) {
  if (stmt->kind == StmtKind::kStore && stmt->buffer.get() == &buffer) return true;
  const bool first = !stmt->regions.empty() && stmt->regions[0].buffer.get() == &buffer;
  return first ||
         std::ranges::any_of(stmt->body, [&](const Stmt& one) { return Writes(one, buffer); });
}

/// Drivers without cl_khr_fp16 call a long function for each conversion of a float16, and take
/// seconds to compile hundreds of them.
bool ComputesInHalf(const Program& part) {
  return std::ranges::any_of(part.parameters,
                             [](const Buffer& buffer) { return buffer->dtype == kFloat16; });
}

}  // namespace

KernelWriter::KernelWriter(const Launch& launch, const Program& part, const emit::StoragePlan& plan,
                           const std::vector<WorkspaceImage>& images, DefinedFunctions& defined)
    : launch_(launch),
      part_(part),
      plan_(plan),
      images_(images),
      defined_(defined),
      wide_(IsWide(part)),
      unrolls_(!ComputesInHalf(part)),
      taken_(std::begin(kReserved), std::end(kReserved)) {}

Result<std::string> KernelWriter::Write() {
  if (!taken_.insert(launch_.name).second) {
    return InvalidArgument("a word of OpenCL C is not a name of a kernel");
  }
  WriteSignature();
  out_ += " {\n";
  ++depth_;
  WriteLocalArrays(part_.body);
  WriteStmt(part_.body);
  --depth_;
  out_ += "}\n";
  TW_RETURN_IF_ERROR(status_.WithContext(launch_.name));
  return std::move(out_);
}

std::string KernelWriter::FreshName(const std::string& name) {
  std::string text;
  for (const char c : name) {
    text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0 ||
      text.starts_with("tw_")) {
    text.insert(0, "_");
  }
  std::string unique = text;
  for (int i = 1; !taken_.insert(unique).second; ++i) unique = text + "_" + std::to_string(i);
  return unique;
}

const std::string& KernelWriter::NameOf(const BufferNode& buffer) {
  const auto found = buffers_.find(&buffer);
  if (found != buffers_.end()) return found->second;
  Fail(InvalidArgument("buffer " + buffer.name + " is accessed outside of its allocation"));
  return buffer.name;
}

const std::string& KernelWriter::NameOf(const ExprNode& var) {
  const auto found = variables_.find(&var);
  if (found != variables_.end()) return found->second;
  Fail(InvalidArgument("variable " + var.name + " outside of its loop"));
  return var.name;
}

const std::string& KernelWriter::Declare(const Expr& var, std::int64_t extent) {
  ranges_.Set(var, {0, extent - 1});
  return variables_[var.get()] = FreshName(var->name);
}

void KernelWriter::Forget(const Expr& var) {
  taken_.erase(variables_[var.get()]);
  variables_.erase(var.get());
}

void KernelWriter::Line(const std::string& text) {
  out_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  out_ += text + "\n";
}

void KernelWriter::WriteSignature() {
  const auto sizes = [](const std::array<std::int64_t, 3>& of) {
    return std::to_string(of[0]) + " x " + std::to_string(of[1]) + " x " + std::to_string(of[2]);
  };
  Line("// " + sizes(launch_.grid) + " groups of " + sizes(launch_.block) + " items.");
  Line("__kernel __attribute__((reqd_work_group_size(" + std::to_string(launch_.block[0]) + ", " +
       std::to_string(launch_.block[1]) + ", " + std::to_string(launch_.block[2]) + ")))");
  out_ += "void " + launch_.name + "(";
  for (std::size_t i = 0; i < part_.parameters.size(); ++i) {
    const BufferNode& buffer = *part_.parameters[i];
    buffers_[&buffer] = FreshName(buffer.name);
    out_ += (i == 0 ? "" : ", ") + ParameterOf(buffer) + buffers_[&buffer];
  }
  out_ += ")";
}

/// Returns the type of a parameter.
std::string KernelWriter::ParameterOf(const BufferNode& buffer) const {
  const bool writes = Writes(part_.body, buffer);
  if (ImageOf(buffer) != nullptr)
    return writes ? "__write_only image2d_t " : "__read_only image2d_t ";
  return std::string("__global ") + (writes ? "" : "const ") + TypeName(buffer.dtype, true) +
         "* restrict ";
}

void KernelWriter::WriteLocalArrays(const Stmt& stmt) {
  if (stmt->kind == StmtKind::kAllocate && stmt->buffer->scope == Scope::kShared) {
    const BufferNode& buffer = *stmt->buffer;
    buffers_[&buffer] = FreshName(buffer.name);
    Line("__local " + TypeName(buffer.dtype, true) + " " + buffers_[&buffer] + "[" +
         std::to_string(std::max<std::int64_t>(1, buffer.elements())) +
         "] __attribute__((aligned(" + std::to_string(kSharedAlignment) + ")));");
  }
  for (const Stmt& part : stmt->body) WriteLocalArrays(part);
}

void KernelWriter::WriteStmt(const Stmt& stmt) {
  switch (stmt->kind) {
    case StmtKind::kBlock:
      for (const Stmt& part : stmt->body) WriteStmt(part);
      return;
    case StmtKind::kFor:
      return WriteFor(stmt);
    case StmtKind::kStore:
      return WriteStore(stmt);
    case StmtKind::kIf:
      return WriteIf(stmt);
    case StmtKind::kAllocate:
      return WriteAllocate(stmt);
    case StmtKind::kIntrinsic:
      return WriteDot(stmt);
    case StmtKind::kBarrier:
      return Line("barrier(CLK_LOCAL_MEM_FENCE);");
    case StmtKind::kPrefetch:
      return;
    case StmtKind::kCopy:
      return Fail(Unsupported(IsAsyncCopy(*stmt) ? "asynchronous copies in OpenCL C"
                                                 : "copies of regions in OpenCL C"));
    case StmtKind::kLibraryCall:
      return Fail(Unsupported("library calls in OpenCL C"));
  }
}

void KernelWriter::WriteFor(const Stmt& stmt) {
  if (stmt->extent <= 0) return;
  const auto* bound = std::ranges::find(kIndices, stmt->loop, &IndexRow::loop);
  const std::int64_t outer_steps = unroll_steps_;
  unroll_steps_ = Attribute(stmt, "auto_unroll_max_step", outer_steps);
  if (Attribute(stmt, "unroll_explicit", 1) == 0) unroll_steps_ = 0;
  if (bound != std::end(kIndices)) {
    const char* type = wide_ ? "long" : "int";
    Line(std::string("const ") + type + " " + Declare(stmt->var, stmt->extent) + " = " +
         bound->function + ";");
    WriteStmt(stmt->body[0]);
    Forget(stmt->var);
  } else if (stmt->loop == LoopKind::kParallel) {
    Fail(Unsupported("loop " + stmt->var->name + " is parallel, in a kernel"));
  } else if (!WriteVectorized(stmt)) {
    WriteSerial(stmt, ShouldUnroll(stmt));
  }
  unroll_steps_ = outer_steps;
}

bool KernelWriter::ShouldUnroll(const Stmt& stmt) const {
  if (stmt->loop != LoopKind::kSerial || plan_.unrolled.contains(stmt.get())) return true;
  return unroll_steps_ > 0 && emit::CountSteps(stmt, unroll_steps_ + 1) <= unroll_steps_;
}

void KernelWriter::WriteSerial(const Stmt& stmt, bool unrolled) {
  if (stmt->extent == 1) {
    const Substitution only = {{stmt->var.get(), Expr(0)}};
    return WriteStmt(MapExprs(stmt->body[0], [&](const Expr& e) { return Substitute(e, only); }));
  }
  if (unrolled && unrolls_) Line("#pragma unroll");
  const char* type = wide_ ? "long " : "int ";
  const std::string name = Declare(stmt->var, stmt->extent);
  Line("for (" + (type + name) + " = 0; " + name + " < " + std::to_string(stmt->extent) + "; ++" +
       name + ") {");
  ++depth_;
  WriteStmt(stmt->body[0]);
  --depth_;
  Line("}");
  Forget(stmt->var);
}

/// Writes a loop of one store as a vector, if it has such a form.
bool KernelWriter::WriteVectorized(const Stmt& stmt) {
  const std::int64_t lanes = stmt->extent;
  const bool fits = lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16;
  const Stmt& store = stmt->body[0];
  if (stmt->loop != LoopKind::kVectorized || lane_ || !fits || store->kind != StmtKind::kStore) {
    return false;
  }
  const BufferNode& buffer = *store->buffer;
  if (buffer.dtype.is_bool()) return false;
  lane_ = stmt->var;
  lanes_ = lanes;
  Declare(stmt->var, stmt->extent);
  if (const WorkspaceImage* image = ImageOf(buffer)) {
    WriteTexel(*image, *store);
    Forget(stmt->var);
    lane_ = {};
    return true;
  }
  Expr value = store->value;
  // The store itself rounds to float16.
  const bool moves = buffer.dtype == kFloat16 && value->kind == ExprKind::kLoad &&
                     ImageOf(*value->buffer) == nullptr;
  const bool half = buffer.dtype == kFloat16 && !moves;
  if (half && value->kind == ExprKind::kCast && value->args[0]->dtype == kFloat32) {
    value = value->args[0];
  }
  const auto access = AccessOf(buffer, store->indices);
  const auto vector = !access || access->step != 1 ? std::nullopt
                      : moves                      ? VectorLoad(*value, /*bits=*/true)
                                                   : Vector(value);
  Forget(stmt->var);
  lane_ = {};
  if (!vector) return false;
  const std::string count = std::to_string(lanes);
  Line((half ? "vstore_half" + count + "_rte(" : "vstore" + count + "(") + *vector + ", 0, " +
       (moves ? NameOf(buffer) : Pointer(buffer, /*writes=*/true)) + " + " + access->index + ");");
  return true;
}

void KernelWriter::WriteIf(const Stmt& stmt) {
  Line("if (" + Value(stmt->condition) + ") {");
  for (std::size_t i = 0; i < stmt->body.size(); ++i) {
    if (!stmt->body[i]) continue;
    if (i == 1) Line("} else {");
    ++depth_;
    WriteStmt(stmt->body[i]);
    --depth_;
  }
  Line("}");
}

void KernelWriter::WriteAllocate(const Stmt& stmt) {
  const BufferNode& buffer = *stmt->buffer;
  if (buffer.scope == Scope::kGlobal) return Fail(Unsupported("global memory inside of a launch"));
  if (buffer.scope == Scope::kLocal) {
    buffers_[&buffer] = FreshName(buffer.name);
    Line(TypeName(buffer.dtype, true) + " " + buffers_[&buffer] + "[" +
         std::to_string(std::max<std::int64_t>(1, buffer.elements())) + "];");
  }
  WriteStmt(stmt->body[0]);
}

void KernelWriter::WriteTexel(const WorkspaceImage& image, const StmtNode& store) {
  const auto vector = Vector(store.value);
  Line("write_imagef(" + NameOf(*image.buffer) + ", " + TexelCoordinates(image, store.indices) +
       ", " + (vector ? *vector : VectorOfElements(store.value)) + ");");
}

void KernelWriter::WriteStore(const Stmt& stmt) {
  const BufferNode& buffer = *stmt->buffer;
  if (ImageOf(buffer) != nullptr) return Fail(Unsupported("an element of an image is written"));
  const std::string index = Flat(buffer, stmt->indices);
  if (buffer.dtype != kFloat16) {
    return Line(NameOf(buffer) + "[" + index + "] = " + Value(stmt->value) + ";");
  }
  Expr value = stmt->value;
  if (const auto bits = Bits(value))
    return Line(NameOf(buffer) + "[" + index + "] = " + *bits + ";");
  if (value->kind == ExprKind::kCast && value->args[0]->dtype == kFloat32) value = value->args[0];
  Line("vstore_half_rte(" + Value(value) + ", " + index + ", " + Pointer(buffer, true) + ");");
}

void KernelWriter::WriteDot(const Stmt& stmt) {
  const DotIntrinsic* dot = FindDotIntrinsic(stmt->name);
  const bool bytes = dot != nullptr && dot->depth == 4 && !dot->taps && stmt->regions.size() == 3;
  if (!bytes) return Fail(Unsupported(stmt->name + " in OpenCL C"));
  const Region& sum = stmt->regions[0];
  const Region& a = stmt->regions[1];
  const Region& b = stmt->regions[2];
  const std::string function = defined_.Use(dot->a == kInt8 ? "tw_dot4_ss" : "tw_dot4_us");
  const auto first = [&](const Region& region, std::int64_t offset, int outer) {
    return Index(Simplify(FlatIndex(*region.buffer, region.min) + Expr(offset), ranges_), outer);
  };
  const std::string left = "vload4(0, " + Pointer(*a.buffer) + " + " + first(a, 0, kSum) + ")";
  std::int64_t lanes = 1;
  for (const std::int64_t extent : sum.extent) lanes *= extent;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    const std::string target = NameOf(*sum.buffer) + "[" + first(sum, lane, kAnyOperand) + "]";
    Line(target + " = " + function + "(" + left + ", vload4(0, " + Pointer(*b.buffer) + " + " +
         first(b, lane * dot->depth, kSum) + "), " + target + ");");
  }
}

}  // namespace tilewright::opencl
