#include <algorithm>
#include <cstdlib>
#include <string>

#include "measure/device/grid_candidate.h"
#include "src/runtime/opencl/session.h"

namespace tilewright::measure {
namespace {

constexpr double kWaitForDeviceSeconds = 10;
constexpr std::int64_t kMaxFlushBytes = std::int64_t{64} << 20;
/// Shorter kernels run in batches of this length, with warm caches: a launch costs tens of
/// microseconds.
constexpr double kFlushCallsAboveSeconds = 200e-6;
constexpr double kBatchOfCallsSeconds = 1e-3;

}  // namespace

Result<std::unique_ptr<GridDeviceState>> OpenClRunner::Open(SamplingSettings& sampling) {
  // PoCL would keep the binary of every candidate in the user's home.
  (void)::setenv("POCL_KERNEL_CACHE", "0", /*overwrite=*/0);
  auto device_state = std::make_unique<GridDeviceState>();
  TW_ASSIGN_OR_RETURN(auto session, OpenClSession::Open(OpenClApi::kLibrary, settings_.ordinal));
  const OpenClDevice& device = session->device();
  if (device.is_cpu) {
    device_state->probe.emplace();
  } else {
    const std::string name = "opencl-" + std::to_string(settings_.ordinal);
    TW_ASSIGN_OR_RETURN(device_state->lock,
                        DeviceLock::Take(settings_.lock_folder, name, kWaitForDeviceSeconds));
  }
  sampling.flush_bytes = std::min(2 * device.cache_bytes, kMaxFlushBytes);
  sampling.flush_above_seconds = kFlushCallsAboveSeconds;
  sampling.batch_seconds = kBatchOfCallsSeconds;
  device_state->session = std::move(session);
  return device_state;
}

}  // namespace tilewright::measure
