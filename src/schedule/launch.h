#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"

namespace tilewright {

/// Shared memory that every device gives a block. A kernel with larger arrays gets all of it at its
/// launch ("dynamic"), after a request to the driver.
inline constexpr std::int64_t kStaticSharedBytes = 48 * 1024;

/// Resource limits of one kernel launch. The defaults hold for every CUDA device from compute
/// capability 5.0 on.
struct LaunchLimits {
  std::int64_t threads_per_block = 1024;
  std::array<std::int64_t, 3> grid = {(std::int64_t{1} << 31) - 1, 65535, 65535};  ///< x, y, z
  std::array<std::int64_t, 3> block = {1024, 1024, 64};                            ///< x, y, z
  std::int64_t shared_bytes = kStaticSharedBytes;
  std::int64_t registers_per_thread = 255;  ///< of 4 bytes
  std::int64_t registers_per_block = 65536;
};

/// Alignment of arrays in shared memory: the longest load.
inline constexpr std::int64_t kSharedAlignment = 16;

/// Part of a program that one kernel launch executes.
struct Launch {
  std::string name;                              ///< symbol of the kernel
  std::array<std::int64_t, 3> grid = {1, 1, 1};  ///< x, y, z
  std::array<std::int64_t, 3> block = {1, 1, 1};
  std::int64_t shared_bytes = 0;
  std::int64_t largest_local_bytes = 0;  ///< largest array of one thread, to be kept in registers
  Stmt body;
  /// For a library call (library() is not null): positions of result, data and weight among the
  /// program's parameters, followed by the plan's workspace.
  std::array<int, 3> operands = {};

  const LibraryCall* library() const {
    return body->kind == StmtKind::kLibraryCall ? body->library.get() : nullptr;
  }
  std::int64_t threads() const { return block[0] * block[1] * block[2]; }
  /// Returns the dynamic shared memory of the launch: all of its shared memory, or 0.
  std::int64_t dynamic_shared_bytes() const {
    return shared_bytes > kStaticSharedBytes ? shared_bytes : 0;
  }
};

/// Program as a GPU executes it: consecutive launches on the parameters and on memory that stays
/// allocated between launches.
struct LaunchPlan {
  std::vector<Buffer> workspace;
  std::vector<Launch> launches;
};

/// Returns the launches of a program. The first one has the program's name.
LaunchPlan PlanLaunches(const Program& program);

/// Checks a launch. Errors: kInvalidArgument with the number that exceeds its limit.
Status CheckLaunch(const Launch& launch, const LaunchLimits& limits);

}  // namespace tilewright
