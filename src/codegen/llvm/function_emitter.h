#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/codegen/amdgpu/dot.h"
#include "src/codegen/llvm/indexer.h"
#include "src/codegen/llvm/storage_plan.h"
#include "src/ir/stmt.h"
#include "src/schedule/intrinsics.h"
#include "src/target/cpu.h"

namespace tilewright::emit {

enum class Machine : std::uint8_t { kX86, kArm64, kArm32, kOtherCpu, kNvptx, kAmdgpu };

/// State shared by the functions of one kernel.
struct KernelContext {
  llvm::Module& module;
  const Program& program;
  const CpuFeatures& features;
  const StoragePlan& plan;
  Machine machine = Machine::kX86;
  Status status = {};                               ///< first emission error
  std::vector<TileRegisterShape> tile_shapes = {};  ///< that the program multiplies, each once
  amdgpu::ByteDot byte_dot = amdgpu::ByteDot::kNone;

  void Fail(Status failure) {
    if (status.ok()) status = std::move(failure);
  }
  /// Returns the type for index arithmetic: 32 bits if they suffice on a GPU and on 32-bit Arm,
  /// where long integers take two registers.
  llvm::IntegerType* index_type() const;
  bool on_gpu() const { return machine == Machine::kNvptx || machine == Machine::kAmdgpu; }
  /// Returns the bytes of one vector register.
  int vector_bytes() const { return features.float_lanes() * 4; }
};

/// Returns LLVM's type of one element in registers (bool: i1) and in memory (bool: i8).
llvm::Type* ScalarType(llvm::LLVMContext& context, DataType dtype);
llvm::Type* MemoryType(llvm::LLVMContext& context, DataType dtype);

/// Returns the shapes of the tile products in a statement, each once (emit_tiles.cc).
std::vector<TileRegisterShape> TileRegisterShapesOf(const Stmt& stmt);

/// Emits statements into one function: the kernel's main function, or the body of a parallel loop.
///
/// Outside of vector loops every value is a scalar. Inside one, the loop is emitted as a sequence
/// of chunks of at most a register's lanes. A value that is the same in all lanes is a scalar (and
/// becomes a splat when combined with a vector); other values are vectors of `lanes_` elements.
/// Conditions that differ between lanes become masks; `mask_` contains the active lanes.
///
/// Failures set the context's status; code emitted after one is never used.
class FunctionEmitter {
 public:
  FunctionEmitter(KernelContext& kernel, llvm::Function* function);

  /// Sets the base address of a parameter or of a buffer in the workspace.
  void SetBase(const BufferNode* buffer, llvm::Value* pointer) { bases_[buffer] = pointer; }
  /// Sets the workspace and the TwParallel of the call (null if absent); only a function that
  /// starts parallel loops needs them.
  void SetCall(llvm::Value* workspace, llvm::Value* parallel);
  Indexer& indexer() { return indexer_; }

  void EmitBody(const Stmt& stmt) { Emit(stmt); }
  /// Emits a loop over [begin, end) given at run time, within [0, stmt->extent).
  void EmitRange(const Stmt& stmt, llvm::Value* begin, llvm::Value* end);
  /// Ends the function, which returns 0, or nothing on a GPU.
  void Finish();

 private:
  using Value = llvm::Value;

  // --- statements (emit_stmt.cc, emit_parallel.cc, emit_copy.cc, emit_gpu.cc) ---
  void Emit(const Stmt& stmt);
  void EmitFor(const Stmt& stmt);
  void EmitSerial(const Stmt& stmt);
  /// Returns the number of iterations (int64) of a loop.
  Value* EmitCount(const Stmt& stmt);
  void EmitLet(const Stmt& stmt);
  void EmitUnrolled(const Stmt& stmt);
  void EmitVectorized(const Stmt& stmt);
  void EmitChunk(const Stmt& stmt, Linear first, int lanes);
  bool TakesAnyLanes(const Stmt& stmt, std::int64_t done);
  bool MovesInRows(const Expr& expr);
  bool LiesInRow(const BufferNode& buffer, const std::vector<Expr>& indices);
  bool ShouldUnroll(const Stmt& stmt) const;
  bool EmitBound(const Stmt& stmt);
  void EmitBarrier();
  Value* AllocateShared(const BufferNode& buffer);
  void EmitParallel(const Stmt& stmt);
  void KeepCode(Value* code);
  llvm::Function* EmitParallelBody(const Stmt& stmt, const std::vector<Expr>& outer,
                                   const std::vector<const BufferNode*>& shared);
  void EmitIf(const Stmt& stmt);
  void EmitAllocate(const Stmt& stmt);
  void EmitStore(const Stmt& stmt);
  void EmitPrefetch(const Stmt& stmt);
  void EmitCopy(const Stmt& stmt);
  template <typename Body>  // these two are in loops.h
  void LoopBetween(Value* begin, Value* end, Range range, const std::string& name, Body body);
  template <typename Then>
  void EmitGuarded(Value* condition, Then then);

  void EmitLibraryCall(const Stmt& stmt);  // emit_library.cc

  // ... on GPUs from sm_80 on (emit_copy.cc) ---
  void EmitAsyncCopy(const StmtNode& stmt);
  void EmitAsyncCommit();
  void EmitAsyncWait(const StmtNode& stmt);

  // --- tensor intrinsics (emit_dot.cc) ---
  /// Properties of the multiplied bytes.
  struct DotOperands {
    bool a_signed = false;
    bool b_narrow = false;  ///< see BufferNode
  };
  void EmitIntrinsic(const Stmt& stmt);
  Value* Converted(Value* value, DataType from, DataType to);
  Value* WidenedBFloat16(Value* value);
  Value* NarrowedToBFloat16(Value* value);
  Value* EmitDotBFloat16(Value* acc, Value* a, Value* b, int lanes);
  Value* EmitDot4(Value* acc, Value* a, Value* b, int lanes, const DotOperands& operands);
  Value* EmitGpuDot4(Value* acc, Value* a, Value* b, int lanes, bool a_signed);
  Value* EmitDot2(Value* acc, Value* a, Value* b, int lanes);
  Value* LoadLanes(Value* address, llvm::Align alignment, int count, int padded);

  // ... of taps (emit_taps.cc) ---
  void EmitTaps(const StmtNode& stmt);
  Value* LoadTaps(const Region& region, std::size_t taps, int lanes);

  // ... on tensor cores (emit_mma.cc) ---
  void EmitMma(const StmtNode& stmt, const MmaIntrinsic& mma);
  void LoadFragments(std::span<const Region> runs, const MmaIntrinsic& mma,
                     std::vector<Value*>* words);

  // ... in tile registers (emit_tiles.cc) ---
  void EmitTiles(const StmtNode& stmt, const TileIntrinsic& tiles);
  void ConfigureTiles(const TileRegisterShape& shape);
  void MultiplyTileSteps(const StmtNode& stmt, const TileIntrinsic& tiles,
                         const TileProducts& products, Linear a, Linear b, std::size_t reduction);
  void MultiplyStep(const StmtNode& stmt, const TileIntrinsic& tiles, const TileProducts& products,
                    const Linear& a, const Linear& b);
  void MoveTile(llvm::Intrinsic::ID move, std::int64_t tile, const BufferNode& buffer, Linear index,
                std::int64_t offset, std::int64_t stride);

  // --- memory (emit_memory.cc) ---
  std::optional<Linear> Flatten(const BufferNode& buffer, const std::vector<Expr>& indices);
  Value* BaseOf(const BufferNode& buffer);
  Value* AddressOf(const BufferNode& buffer, const Linear& index);
  llvm::Align AlignmentOf(const BufferNode& buffer, const Linear& index) const;
  bool InBounds(const BufferNode& buffer, const Linear& index) const;
  Value* EmitLoad(const ExprNode& load);
  Value* LoadScalar(const BufferNode& buffer, const Linear& index, Value* condition);
  Value* LoadVector(const BufferNode& buffer, const Linear& index);
  llvm::Constant* MaskOfRest(const BufferNode& buffer) const;
  Value* LoadFromRow(const BufferNode& buffer, const std::vector<Expr>& indices);
  Value* Gather(const BufferNode& buffer, const std::vector<Expr>& indices);
  Value* LoadOrConstant(const ExprNode& load, Value* condition, Value* otherwise);
  void Scatter(const BufferNode& buffer, const std::vector<Expr>& indices, Value* value);
  void StoreVector(const BufferNode& buffer, const Linear& index, Value* value);
  // ... whose rows are the vectors' columns (emit_transposed.cc)
  void FindTransposition(const Stmt& stmt);
  bool EmitPair(const Stmt& stmt);
  Value* PairedLoad(const ExprNode& load, const Expr& var);
  Value* TransposedLoad(const ExprNode& load, int group = 1);
  std::vector<Value*> Columns(const ExprNode& load, int group);
  Value* LoadRow(const BufferNode& buffer, const Linear& index, std::int64_t count, int group = 1);
  Value* Joined(std::vector<Value*> parts);
  Value* FromMemory(Value* value, DataType dtype);
  Value* ToMemory(Value* value, DataType dtype);
  Value* SafeAddress(Value* condition, Value* address);
  /// Runs `body(lane, active)` for each lane, outside of vector mode, with the vector variable
  /// bound to that lane; active is null or the lane's bit of the mask (loops.h).
  template <typename Body>
  void ForEachLane(Body body);

  // --- expressions (emit_expr.cc, emit_math.cc) ---
  Value* EmitExpr(const Expr& expr);
  Value* EmitUncached(const Expr& expr);
  Value* EmitIndexValue(const Expr& expr, const Linear& value);
  Value* NarrowedForHalf(Value* value);
  Value* EmitCast(const Expr& expr);
  Value* EmitArithmetic(const Expr& expr);
  Value* EmitFloatExtreme(const ExprNode& expr, Value* a, Value* b);
  Value* EmitMaskedExtreme(bool min, Value* a, Value* b);
  Value* EmitFloatSum(const Expr& expr);
  Value* EmitIntegerDivision(ExprKind kind, DataType dtype, Value* a, Value* b);
  Value* EmitComparison(const Expr& expr);
  Value* EmitLinearComparison(ExprKind kind, const Linear& difference);
  Value* EmitLogical(const Expr& expr);
  Value* EmitSelect(const Expr& condition, const Expr& if_true, const Expr& if_false);
  Value* EmitArm(const Expr& arm, Value* mask);
  Value* EmitCall(const Expr& expr);
  /// Multiple of exp(x), and the limits of the arguments beyond which the result is constant.
  struct ExpForm {
    double scale = 1, low = -104, high = 89;  // 0 and infinity
  };
  Value* EmitExp(Value* x, ExpForm form);
  Value* EmitExp(Value* x) { return EmitExp(x, ExpForm{}); }
  Value* EmitSigmoid(Value* x);
  Value* EmitTimesPowerOfTwo(Value* p, Value* shifted, Value* n);
  Value* EmitOddQuotient(Value* x, std::span<const double> numerator,
                         std::span<const double> denominator, double end);
  Value* EmitTanh(Value* x);
  Value* EmitErf(Value* x);
  /// never_positive: all arguments are at most 0.
  Value* EmitLibm(const std::string& name, DataType dtype, const std::vector<Value*>& args,
                  bool never_positive);
  Value* EmitUnaryIntrinsic(llvm::Intrinsic::ID id, Value* x);
  Value* MulAdd(Value* a, Value* b, Value* c);
  bool NeedsGuard(const Expr& expr);
  Value* Undefined(DataType dtype);
  Value* FloatConstant(Value* like, double value);

  // --- lanes ---
  bool IsVector(const Value* value) const { return value->getType()->isVectorTy(); }
  Value* ToVector(Value* value);
  /// Converts both to vectors if one is a vector.
  void Unify(Value*& a, Value*& b);
  /// Returns the lanes that are active and satisfy `condition` (a vector of i1, or a scalar).
  Value* AndMask(Value* condition);

  llvm::BasicBlock* NewBlock(const char* name);
  llvm::IRBuilder<> EntryBuilder();
  bool on_gpu() const { return kernel_.on_gpu(); }

  KernelContext& kernel_;
  llvm::LLVMContext& context_;
  llvm::Function* function_;
  llvm::IRBuilder<> builder_;
  Indexer indexer_;
  std::unordered_map<const BufferNode*, Value*> bases_;
  Value* workspace_ = nullptr;
  Value* parallel_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  Value* result_ = nullptr;  // alloca of the first return code that is not 0, or null

  /// Unrolled loop around a vector loop of one store, or of a pair of stores (EmitPair).
  struct Transposition {
    Expr var;
    std::int64_t extent = 0, step = 0;  // iterations, and the current one
    // Loads along the loop, by load and first lane: a vector per iteration.
    std::map<std::pair<const ExprNode*, std::int64_t>, std::vector<Value*>> columns;
  };
  std::optional<Transposition> transposition_;

  int lanes_ = 0;
  Expr lane_var_;
  Linear lane_first_;
  Value* mask_ = nullptr;
  std::int64_t unroll_steps_ = 0;  // current auto_unroll_max_step

  bool multiplies_tiles_ = false;
  Value* tile_shape_ = nullptr;  // alloca: number of the configured shape, of several; or null

  // Values of the current statement, valid at the builder's position and mask. Each entry keeps its
  // expression alive, so that no new expression gets the same address.
  struct Emitted {
    Expr expr;
    Value* value;
  };
  std::unordered_map<const ExprNode*, Emitted> memo_;
  struct Guarded {
    Expr expr;
    bool needs;
  };
  std::unordered_map<const ExprNode*, Guarded> needs_guard_;
};

}  // namespace tilewright::emit
