#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/library_call.h"
#include "src/ir/expr.h"

namespace tilewright {

/// Execution order of a loop's iterations. All extents are constants. In a lowered program the
/// loops bound to a GPU index enclose all other statements, one per index.
enum class LoopKind : std::uint8_t {
  kSerial,
  kParallel,    ///< iterations run in any order on the runtime's threads
  kVectorized,  ///< iterations become lanes
  kUnrolled,    ///< the body is repeated in the code
  kBlockX,
  kBlockY,
  kBlockZ,  ///< GPU grid
  kThreadX,
  kThreadY,
  kThreadZ,        ///< GPU block
  kVirtualThread,  ///< iterations interleave in one thread (GPU, VTA)
};

/// Returns true for loops whose variable is an index of a GPU's grid or block.
constexpr bool IsBlockLoop(LoopKind kind) {
  return kind == LoopKind::kBlockX || kind == LoopKind::kBlockY || kind == LoopKind::kBlockZ;
}
constexpr bool IsThreadLoop(LoopKind kind) {
  return kind == LoopKind::kThreadX || kind == LoopKind::kThreadY || kind == LoopKind::kThreadZ;
}

enum class StmtKind : std::uint8_t {
  kBlock,        ///< body: statements in order
  kFor,          ///< var from 0 to extent-1 over body[0]
  kStore,        ///< buffer[indices] = value
  kIf,           ///< condition, body[0], optional body[1]
  kAllocate,     ///< buffer is allocated during body[0]
  kCopy,         ///< region copy (below)
  kIntrinsic,    ///< tensor intrinsic (below)
  kBarrier,      ///< all threads of a GPU block wait, or the VTA engines in `name`
  kPrefetch,     ///< hint: cache line of buffer[indices]; int attribute "locality" 0..3
  kLibraryCall,  ///< a library function computes regions[0] from the others, all whole buffers
};

/// Rectangular part of a buffer: for each dimension a first index and a constant extent.
struct Region {
  Buffer buffer;
  std::vector<Expr> min;
  std::vector<std::int64_t> extent;
};

/// Library function, resolved when the code is loaded.
struct LibraryCall {
  std::string file;       ///< of the library: "libdnnl.so.2"
  std::string operation;  ///< unique description of the computation
  TwLibraryShape shape = {};
};

struct StmtNode;
class Stmt {
 public:
  Stmt() = default;
  explicit Stmt(std::shared_ptr<const StmtNode> node) : node_(std::move(node)) {}
  explicit operator bool() const { return node_ != nullptr; }
  const StmtNode* operator->() const { return node_.get(); }
  const StmtNode& operator*() const { return *node_; }
  const StmtNode* get() const { return node_.get(); }

 private:
  std::shared_ptr<const StmtNode> node_;
};

struct StmtNode {
  StmtKind kind;
  std::vector<Stmt> body;

  // kFor
  Expr var;
  std::int64_t extent = 0;
  LoopKind loop = LoopKind::kSerial;

  // kStore, kPrefetch, kAllocate
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;

  // kIf; also guards a kCopy
  Expr condition;

  /// kCopy: regions[0] is the destination, regions[1] the source; both have the same number of
  /// elements in row-major order. If `value` is set, source positions outside [0, shape) read as
  /// `value` (padding).
  /// kIntrinsic: writes regions[0] (and reads it if the intrinsic accumulates), reads the others;
  /// `name` is a key of the intrinsic table (src/schedule/intrinsics.h).
  std::string name;
  std::vector<Region> regions;

  std::shared_ptr<const LibraryCall> library;  // kLibraryCall

  /// Small integers for the back end, such as {"unroll_explicit", 1} on a kFor.
  std::map<std::string, std::int64_t> attributes;
};

Stmt MakeBlock(std::vector<Stmt> body);
Stmt MakeFor(Expr var, std::int64_t extent, LoopKind loop, Stmt body,
             std::map<std::string, std::int64_t> attributes = {});
Stmt MakeStore(Buffer buffer, std::vector<Expr> indices, Expr value);
Stmt MakeIf(Expr condition, Stmt then_body, Stmt else_body = {});
Stmt MakeAllocate(Buffer buffer, Stmt body);
Stmt MakeCopy(Region destination, Region source, Expr padding = {});
Stmt MakeIntrinsic(std::string name, std::vector<Region> regions);
/// Creates a call that computes `result` from the operands; all of them are whole buffers.
Stmt MakeLibraryCall(LibraryCall call, const Buffer& result, const std::vector<Buffer>& operands);
/// Creates a barrier: all threads of a block wait for each other; empty `engines` on a GPU.
Stmt MakeBarrier(std::string engines = {});
/// Creates a hint to prefetch the cache line of buffer[indices]; locality 0 (none) to 3 (keep in
/// L1).
Stmt MakePrefetch(Buffer buffer, std::vector<Expr> indices, int locality);

/// Formats indented pseudo-code, one statement per line; stable (golden tests compare it).
std::string ToString(const Stmt& stmt);

/// Lowered loop nest of one kernel: the only input of a back end.
struct Program {
  std::string name;                ///< symbol of the entry point; [A-Za-z_][A-Za-z0-9_]*
  std::vector<Buffer> parameters;  ///< inputs first, in the order of the kernel's signature
  int output_count = 1;            ///< the last `output_count` parameters are written
  Stmt body;
};

/// Returns the library calls of a statement, in order.
std::vector<const LibraryCall*> LibraryCallsOf(const Stmt& stmt);

/// Formats the signature line and the body.
std::string ToString(const Program& program);

}  // namespace tilewright
