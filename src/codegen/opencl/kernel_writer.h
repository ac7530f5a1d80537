#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/codegen/llvm/storage_plan.h"
#include "src/codegen/opencl/defined_functions.h"
#include "src/ir/simplify.h"
#include "src/ir/stmt.h"
#include "src/schedule/launch.h"
#include "src/schedule/workspace_images.h"

namespace tilewright::opencl {

/// Precedence as in C; a higher number binds tighter.
enum Precedence : int {
  kAnyOperand = 0,
  kConditional = 1,
  kOrElse = 2,
  kAndThen = 3,
  kEquality = 7,
  kRelation = 8,
  kShift = 9,
  kSum = 10,
  kProduct = 11,
  kPrefix = 12,
  kPrimary = 13,
};

/// Writes one launch as a kernel. Values have the C type of their type; float16 is a float with a
/// value of that type, bool an int. Indices are int, or long if a buffer is large.
///
/// Failures set the status; text written after one is never used.
class KernelWriter {
 public:
  /// part: the program with the launch's body and the workspace as parameters. images: workspace
  /// that is no buffer. All arguments must outlive the writer.
  KernelWriter(const Launch& launch, const Program& part, const emit::StoragePlan& plan,
               const std::vector<WorkspaceImage>& images, DefinedFunctions& defined);
  /// Returns the kernel's definition.
  Result<std::string> Write();

 private:
  // --- names ---
  std::string FreshName(const std::string& name);
  const std::string& NameOf(const BufferNode& buffer);
  const std::string& NameOf(const ExprNode& var);
  /// Declares the variable of a loop until Forget.
  const std::string& Declare(const Expr& var, std::int64_t extent);
  void Forget(const Expr& var);

  // --- statements (kernel_writer.cc) ---
  void Line(const std::string& text);
  void WriteSignature();
  std::string ParameterOf(const BufferNode& buffer) const;
  void WriteLocalArrays(const Stmt& stmt);
  void WriteStmt(const Stmt& stmt);
  void WriteFor(const Stmt& stmt);
  bool WriteVectorized(const Stmt& stmt);
  void WriteSerial(const Stmt& stmt, bool unrolled);
  bool ShouldUnroll(const Stmt& stmt) const;
  void WriteIf(const Stmt& stmt);
  void WriteAllocate(const Stmt& stmt);
  void WriteStore(const Stmt& stmt);
  void WriteDot(const Stmt& stmt);

  // --- expressions (expressions.cc) ---
  /// Returns a text that binds at least as tightly as `outer` (Precedence).
  std::string Value(const Expr& expr, int outer = 0);
  std::string Index(const Expr& expr, int outer = 0);
  std::string Text(const Expr& expr, int outer, bool index);
  std::string Number(const ExprNode& node, bool index) const;
  std::string Real(const ExprNode& node) const;
  std::string Binary(const Expr& expr, int outer, bool index);
  std::string FloorDivision(const Expr& expr, int outer, bool index);
  std::string Extreme(const Expr& expr, bool index);
  std::string Cast(const Expr& expr);
  std::string Load(const ExprNode& load);
  std::string Call(const Expr& expr);
  std::string Flat(const BufferNode& buffer, const std::vector<Expr>& indices);
  Expr FlatIndex(const BufferNode& buffer, const std::vector<Expr>& indices) const;
  /// Returns the buffer as the type that vload_half and vload4 take.
  std::string Pointer(const BufferNode& buffer, bool writes = false);
  /// Returns the image of a buffer; null if it is none.
  const WorkspaceImage* ImageOf(const BufferNode& buffer) const {
    return ImageOfBuffer(images_, buffer);
  }
  /// Returns the read of the texel of an element, a float4.
  std::string Texel(const WorkspaceImage& image, const std::vector<Expr>& indices);
  /// Returns the coordinates of the texel, an int2.
  std::string TexelCoordinates(const WorkspaceImage& image, const std::vector<Expr>& indices);
  /// Returns the bits of a float16 that is only moved; null for other values.
  std::optional<std::string> Bits(const Expr& expr);

  // --- vectors (vectors.cc) ---
  /// Access of consecutive elements by the lanes of the vectorized loop, or of one for all.
  struct LaneAccess {
    std::int64_t step = 0;  // 0 or 1
    std::string index;      // of the first lane
  };
  std::optional<LaneAccess> AccessOf(const BufferNode& buffer, const std::vector<Expr>& indices);
  bool DependsOnLane(const Expr& expr) const;
  /// Returns null if the expression has no vector form.
  std::optional<std::string> Vector(const Expr& expr);
  std::optional<std::string> VectorOperands(const Expr& expr, const char* symbol);
  std::optional<std::string> VectorLoad(const ExprNode& load, bool bits = false);
  std::optional<std::string> VectorCast(const Expr& expr);
  /// Returns the four elements of a vector, each computed by itself.
  std::string VectorOfElements(const Expr& expr);
  void WriteTexel(const WorkspaceImage& image, const StmtNode& store);

  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  const Launch& launch_;
  const Program& part_;
  const emit::StoragePlan& plan_;
  const std::vector<WorkspaceImage>& images_;
  DefinedFunctions& defined_;
  const bool wide_;      // indices are long
  bool unrolls_ = true;  // loops, if the schedule says so
  std::string out_;
  int depth_ = 0;
  std::int64_t unroll_steps_ = 0;
  std::set<std::string> taken_;
  std::unordered_map<const BufferNode*, std::string> buffers_;
  std::unordered_map<const ExprNode*, std::string> variables_;
  Ranges ranges_;
  Expr lane_;  // of the vectorized loop that is being written
  std::int64_t lanes_ = 0;
  Status status_;
};

/// Returns the C type of a value; of an element in memory if `memory`.
std::string TypeName(DataType dtype, bool memory = false);

}  // namespace tilewright::opencl
