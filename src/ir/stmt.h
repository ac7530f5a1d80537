#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/library_call.h"
#include "src/ir/expr.h"

namespace tilewright {

/// How the iterations of a loop are executed. All extents are constants. In a lowered program the
/// loops bound to a GPU index stand around everything else, one per index.
enum class LoopKind : std::uint8_t {
  kSerial,
  kParallel,    ///< iterations run in any order, on the runtime's threads
  kVectorized,  ///< iterations become lanes
  kUnrolled,    ///< the body is repeated in the code
  kBlockX,
  kBlockY,
  kBlockZ,  ///< GPU grid
  kThreadX,
  kThreadY,
  kThreadZ,        ///< GPU block
  kVirtualThread,  ///< striped over one thread (GPU, VTA)
};

/// True for the loops whose variable is an index of a GPU's grid or block.
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
  kAllocate,     ///< buffer lives in body[0]
  kCopy,         ///< region copy (below)
  kIntrinsic,    ///< tensor intrinsic (below)
  kBarrier,      ///< all threads of the block / all engines named by intrinsic
  kPrefetch,     ///< hint: the line of buffer[indices]; int attribute "locality" 0..3
  kLibraryCall,  ///< a function of a library computes regions[0] from the others, whole buffers all
};

/// A rectangular part of a buffer: for each dimension a first index and a constant extent.
struct Region {
  Buffer buffer;
  std::vector<Expr> min;
  std::vector<std::int64_t> extent;
};

/// A function of a library, found when the code is loaded.
struct LibraryCall {
  std::string file;       ///< of the library: "libdnnl.so.2"
  std::string operation;  ///< what it computes and how, in words that tell it from all others
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

  /// kCopy: regions[0] is the destination, regions[1] the source, of equal element count in
  /// row-major order. Source positions outside [0, shape) read as `value` (padding) when it is set.
  /// kIntrinsic: regions[0] is what is written (and, where the intrinsic accumulates, read), the
  /// others are read; `name` is a key of the intrinsic table (src/schedule/intrinsics.h).
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
/// result = what the call makes of the operands; all of them as wholes.
Stmt MakeLibraryCall(LibraryCall call, const Buffer& result, const std::vector<Buffer>& operands);
/// All threads of a block wait for each other; empty `engines` on a GPU.
Stmt MakeBarrier(std::string engines = {});
/// A hint to bring the cache line of buffer[indices] near; locality 0 (none) to 3 (keep in L1).
Stmt MakePrefetch(Buffer buffer, std::vector<Expr> indices, int locality);

/// Indented pseudo-code, one statement per line, stable (golden tests compare it).
std::string ToString(const Stmt& stmt);

/// The lowered loop nest of one kernel: the only input of a back end.
struct Program {
  std::string name;                ///< symbol of the entry point; [A-Za-z_][A-Za-z0-9_]*
  std::vector<Buffer> parameters;  ///< inputs first, in the order of the kernel's signature
  int output_count = 1;            ///< the last `output_count` parameters are written
  Stmt body;
};

/// The calls of libraries in a statement, in order.
std::vector<const LibraryCall*> LibraryCallsOf(const Stmt& stmt);

/// Signature line and body.
std::string ToString(const Program& program);

}  // namespace tilewright
