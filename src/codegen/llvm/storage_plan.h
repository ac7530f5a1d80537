#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"

namespace tilewright::emit {

enum class StorageClass : std::uint8_t {
  kParameter,  ///< passed by the caller
  kWorkspace,  ///< in the part of the workspace that all threads share
  kPerThread,  ///< in the part of one thread
  kStack,      ///< on the stack of the enclosing function, or in registers
  kShared,     ///< shared by all threads of a GPU block
};

/// Attribute of a kAllocate: the buffer stays in memory, even if it is small.
constexpr const char* kInMemory = "in_memory";

struct StorageRules {
  std::int64_t register_bytes = 0;  ///< private buffers up to this size get a register per slot
  bool gpu = false;                 ///< private buffers are on the stack of their thread
};

struct Storage {
  StorageClass place = StorageClass::kStack;
  /// kParameter: its number; kWorkspace, kPerThread, kShared: offset in bytes.
  std::int64_t offset = 0;
};

/// Placement of each buffer of a program, and the loops that are unrolled for it.
struct StoragePlan {
  std::unordered_map<const BufferNode*, Storage> storage;
  /// In order of their offsets.
  std::vector<const BufferNode*> workspace_buffers, worker_buffers;
  std::int64_t workspace_bytes = 0;
  std::int64_t workspace_bytes_per_thread = 0;
  std::int64_t shared_bytes = 0;  ///< of a GPU block
  /// Serial loops to unroll, because their variable indexes a buffer small enough for registers.
  std::unordered_set<const StmtNode*> unrolled;
  /// Private buffers that never become registers, because a loop over them must not be unrolled.
  std::unordered_set<const BufferNode*> in_memory;
};

/// Errors: kInvalidArgument for a buffer that is allocated twice, accessed with the wrong number of
/// indices, or accessed outside of its allocation.
Result<StoragePlan> PlanStorage(const Program& program, const StorageRules& rules);

/// Returns the number of statements that one run of `stmt` executes, at most `limit`; a vector loop
/// counts as one iteration.
std::int64_t CountSteps(const Stmt& stmt, std::int64_t limit);

}  // namespace tilewright::emit
