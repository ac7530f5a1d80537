#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/device/device_lock.h"
#include "measure/device/device_runner.h"
#include "measure/evaluate/kernel_evaluation.h"
#include "measure/interference_probe.h"
#include "src/ir/stmt.h"
#include "src/runtime/grid_session.h"
#include "src/runtime/nvml.h"

// Candidates that a driver launches as grids. The artifact is PTX or OpenCL C and the device is one
// of CUDA or OpenCL. The runner process owns its context, because a context cannot be forked and
// creating one takes longer than a trial. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Adds the program's launches to the kernel specification. The artifact does not contain them.
void DescribeLaunches(const Program& program, KernelSpec* kernel);

/// Clock of the device's events. It advances only while a measurement runs.
class DeviceClock final : public Clock {
 public:
  double MonotonicSeconds() override { return now_; }
  double UnixSeconds() override { return SystemClock().UnixSeconds(); }
  void SleepSeconds(double seconds) override { Advance(seconds); }
  void Advance(double seconds) { now_ += seconds; }

 private:
  double now_ = 0;
};

/// Energy of the device as its driver counts it.
class GpuEnergyCounter final : public EnergyCounter {
 public:
  /// watch: outlives it.
  explicit GpuEnergyCounter(const GpuMonitor& watch) : watch_(watch) {}
  Result<double> Joules() override { return watch_.Joules(); }
  double update_period_seconds() const override { return 20e-3; }

 private:
  const GpuMonitor& watch_;
};

/// Device in use by this process, with the state that is kept between candidates.
struct GridDeviceState {
  DeviceLock lock;
  std::unique_ptr<GridSession> session;
  std::optional<GpuMonitor> watch;  ///< empty without NVML: every sample counts as clean then
  std::optional<GpuEnergyCounter> energy;  ///< of `watch`, if joules are to be counted
  DeviceClock clock;
  NoiseFilter gate;
  std::optional<InterferenceProbe> probe;  ///< if the device is this processor
  GridMemory flush;
};

/// Runner of candidates on one device.
class GridRunner : public DeviceRunner {
 public:
  explicit GridRunner(const RunWorkerSettings& settings) : sampling_(settings.sampling) {}

  /// Acquires the device with the first order.
  Result<std::vector<RunReply>> Run(const RunOrder& order, OperandCache& operand_cache) override;

 protected:
  /// Opens the device, and sets how to flush its caches and how long a batch of calls takes.
  virtual Result<std::unique_ptr<GridDeviceState>> Open(SamplingSettings& sampling) = 0;

 private:
  RunReply RunAlone(const RunOrder::Item& item, OperandCache& operand_cache);
  std::vector<RunReply> Race(const RunOrder& order, OperandCache& operand_cache);
  /// Returns true if no further work is possible in this process.
  bool broken() const;
  /// Sets runner_ends if the device's state requires it.
  RunReply WithDeviceState(RunReply reply) const;

  SamplingSettings sampling_;
  std::unique_ptr<GridDeviceState> device_state_;
};

/// Runner of CUDA candidates on one GPU.
class CudaRunner final : public GridRunner {
 public:
  explicit CudaRunner(const RunWorkerSettings& settings)
      : GridRunner(settings), settings_(settings.cuda), joules_(settings.joules) {}

 private:
  Result<std::unique_ptr<GridDeviceState>> Open(SamplingSettings& sampling) override;

  const CudaWorkerSettings settings_;
  const bool joules_;
};

/// Runner of OpenCL candidates on one device.
class OpenClRunner final : public GridRunner {
 public:
  explicit OpenClRunner(const RunWorkerSettings& settings)
      : GridRunner(settings), settings_(settings.cuda) {}

 private:
  Result<std::unique_ptr<GridDeviceState>> Open(SamplingSettings& sampling) override;

  const CudaWorkerSettings settings_;
};

}  // namespace tilewright::measure
