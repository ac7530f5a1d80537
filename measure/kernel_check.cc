// Check of a kernel message, which comes from another process, often from another machine. The
// runner uses sizes, positions and names from it, so each is checked first. Names of libraries are
// the most dangerous: the system's loader receives them.

#include "measure/kernel_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "src/base/library_call.h"
#include "src/base/printable.h"
#include "src/target/device.h"
#include "src/target/library.h"

namespace tilewright::measure {
namespace {

constexpr std::size_t kMaxLaunches = 256, kMaxWorkspaces = 64;
constexpr std::size_t kMaxName = 256;
constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{1} << 40;
// CUDA's limits of a grid's and a block's extents, threads of a block, and more shared memory than
// any device gives a block.
constexpr std::array<std::int64_t, 3> kMaxGrid = {std::numeric_limits<std::int32_t>::max(), 65535,
                                                  65535};
constexpr std::array<std::int64_t, 3> kMaxBlock = {1024, 1024, 64};
/// Work-items of a group of OpenCL and of AMD GPUs, which have no smaller limit along z.
constexpr std::array<std::int64_t, 3> kMaxGroup = {1024, 1024, 1024};
constexpr std::int64_t kMaxBlockThreads = 1024;
constexpr std::int64_t kMaxSharedBytes = std::int64_t{1} << 20;
// The largest that ToleranceOf gives is 0.01.
constexpr double kMaxTolerance = 0.02;

Status Bad(const std::string& field, const std::string& what) {
  return Corrupt("message: " + field + ": " + what);
}

/// Checks a free text: short, and without control characters.
std::string Shown(const std::string& text) {
  constexpr std::size_t kMaxShown = 80;
  return "'" + Printable(text.substr(0, kMaxShown)) + "'";
}

Status CheckExtents(const char* field, const std::array<std::int64_t, 3>& extents,
                    const std::array<std::int64_t, 3>& most) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] >= 1 && extents[i] <= most[i]) continue;
    return Bad(field, std::to_string(extents[i]) + ", expected 1 to " + std::to_string(most[i]));
  }
  return {};
}

std::int64_t BytesOfType(std::int64_t type) {
  if (type == TW_LIBRARY_F32 || type == TW_LIBRARY_S32) return 4;
  return type == TW_LIBRARY_S8 || type == TW_LIBRARY_U8 ? 1 : 0;
}

/// Returns the bytes of the kernel's argument at this index: its parameters, then its workspaces.
std::optional<std::int64_t> BytesAt(const KernelSpec& kernel, int position) {
  const auto parameters = std::ssize(kernel.signature.parameters);
  const auto workspaces = std::ssize(kernel.workspace_bytes);
  if (position < 0 || position >= parameters + workspaces) return std::nullopt;
  const auto at = static_cast<std::size_t>(position);
  if (position < parameters) return kernel.signature.parameters[at].type.bytes();
  return kernel.workspace_bytes[at - static_cast<std::size_t>(parameters)];
}

/// result, data and weight of a call, in this order.
Status CheckOperands(const KernelSpec& kernel, const CudaLibraryCall& call,
                     const TwLibraryShape& s) {
  const bool convolution = s.kind == TW_LIBRARY_CONVOLUTION;
  const auto product = [](std::initializer_list<std::int64_t> sizes, std::int64_t type) {
    double bytes = static_cast<double>(BytesOfType(type));
    for (const std::int64_t size : sizes) bytes *= static_cast<double>(size);
    return bytes;
  };
  const std::array<double, 3> wanted =
      convolution ? std::array{product({s.n, s.k, s.oh, s.ow}, s.result_type),
                               product({s.n, s.c, s.h, s.w}, s.data_type),
                               product({s.k, s.c / s.groups, s.r, s.s}, s.weight_type)}
                  : std::array{product({s.n, s.h, s.k}, s.result_type),
                               product({s.n, s.h, s.c}, s.data_type),
                               product({s.n, s.k, s.c}, s.weight_type)};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto bytes = BytesAt(kernel, call.operands[i]);
    if (!bytes) return Bad("operands", "no argument " + std::to_string(call.operands[i]));
    if (wanted[i] > static_cast<double>(*bytes)) {
      return Bad("shape", "argument " + std::to_string(call.operands[i]) + " has " +
                              std::to_string(*bytes) + " bytes, fewer than the call takes");
    }
  }
  return {};
}

Status CheckLibraryCall(const KernelSpec& kernel, const CudaLibraryCall& call) {
  const KernelLibrary* library = LibraryOfFile(call.file, kernel.target.kind_name());
  if (library == nullptr) {
    return Bad("library", Shown(call.file) + " is not a library that kernels may call");
  }
  if (!UsesLibrary(kernel.target, library->name)) {
    return Bad("library", Shown(call.file) + ": the target does not name it (-libs=" +
                              std::string(library->name) + ")");
  }
  if (call.operation.size() > kMaxName) return Bad("operation", "too long");
  TwLibraryShape shape{};
  if (call.shape.size() * sizeof(std::int64_t) != sizeof(shape)) {
    return Bad("shape", "not a library call's shape");
  }
  std::memcpy(&shape, call.shape.data(), sizeof(shape));
  const bool sizes = std::ranges::all_of(call.shape, [](std::int64_t number) {
    return number >= 0 && number <= std::numeric_limits<std::int32_t>::max();
  });
  const bool convolution = shape.kind == TW_LIBRARY_CONVOLUTION;
  // A product has none of these.
  const bool steps = shape.groups >= 1 && shape.stride_h >= 1 && shape.stride_w >= 1 &&
                     shape.dilation_h >= 1 && shape.dilation_w >= 1;
  if (!sizes || (!convolution && shape.kind != TW_LIBRARY_MATMUL) || (convolution && !steps)) {
    return Bad("shape", "it has a number that no call takes");
  }
  return CheckOperands(kernel, call, shape);
}

Status CheckLaunch(const KernelSpec& kernel, const GridLaunch& launch) {
  if (launch.kernel.size() > kMaxName) return Bad("kernel", "its name is too long");
  if (!launch.library.file.empty()) return CheckLibraryCall(kernel, launch.library);
  TW_RETURN_IF_ERROR(CheckExtents("grid", launch.grid, kMaxGrid));
  const DeviceTraits& device = DeviceTraitsOf(kernel.target);
  const bool groups = device.grids_are_source || device.grids_are_code_objects;
  TW_RETURN_IF_ERROR(CheckExtents("block", launch.block, groups ? kMaxGroup : kMaxBlock));
  for (std::size_t i = 0; device.grids_are_code_objects && i < launch.grid.size(); ++i) {
    // HIP counts the threads along a dimension with 32 bits.
    if (launch.grid[i] * launch.block[i] > std::numeric_limits<std::uint32_t>::max()) {
      return Bad("grid", "more than 2^32 - 1 threads along a dimension");
    }
  }
  const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads > kMaxBlockThreads) {
    return Bad("block", std::to_string(threads) + " threads, expected at most " +
                            std::to_string(kMaxBlockThreads));
  }
  if (launch.shared_bytes < 0 || launch.shared_bytes > kMaxSharedBytes) {
    return Bad("shared_bytes", std::to_string(launch.shared_bytes));
  }
  return {};
}

}  // namespace

Status CheckKernel(const KernelSpec& kernel) {
  const bool launches_grids = DeviceTraitsOf(kernel.target).launches_grids;
  if (kernel.symbol.size() > kMaxName) return Bad("symbol", "it is too long");
  if (kernel.artifact_name.size() > kMaxName) return Bad("artifact_name", "it is too long");
  if (kernel.tolerance && !(*kernel.tolerance >= 0 && *kernel.tolerance <= kMaxTolerance)) {
    return Bad("tolerance", std::to_string(*kernel.tolerance) + ", expected 0 to " +
                                std::to_string(kMaxTolerance));
  }
  if (!launches_grids && (!kernel.launches.empty() || !kernel.workspace_bytes.empty())) {
    return Bad("launches", "the target's kernels are not launched");
  }
  if (kernel.launches.size() > kMaxLaunches) return Bad("launches", "too many");
  if (kernel.workspace_bytes.size() > kMaxWorkspaces) return Bad("workspace_bytes", "too many");
  std::int64_t left = kMaxWorkspaceBytes;
  for (const std::int64_t bytes : kernel.workspace_bytes) {
    if (bytes < 0 || bytes > left) return Bad("workspace_bytes", std::to_string(bytes));
    left -= bytes;
  }
  for (const GridLaunch& launch : kernel.launches) TW_RETURN_IF_ERROR(CheckLaunch(kernel, launch));
  return {};
}

}  // namespace tilewright::measure
