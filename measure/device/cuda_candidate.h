#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/device/device_lock.h"
#include "measure/device/device_runner.h"
#include "measure/evaluate/kernel_evaluation.h"
#include "src/ir/stmt.h"
#include "src/runtime/cuda_session.h"
#include "src/runtime/nvml.h"

// Candidates for CUDA: their artifact is PTX, their device one GPU, which the runner owns itself (a
// context cannot be forked, and making one takes longer than a trial). Included by .cc files of
// measure/ only.

namespace tilewright::measure {

/// How the program's launches are made: what the runner cannot see from PTX.
void DescribeLaunches(const Program& program, KernelSpec* kernel);

/// Time as the device's events tell it: stands still but for what is measured.
class DeviceClock final : public Clock {
 public:
  double MonotonicSeconds() override { return now_; }
  double UnixSeconds() override { return SystemClock().UnixSeconds(); }
  void SleepSeconds(double seconds) override { Advance(seconds); }
  void Advance(double seconds) { now_ += seconds; }

 private:
  double now_ = 0;
};

/// What the device takes, as its driver counts it.
class GpuEnergyCounter final : public EnergyCounter {
 public:
  /// watch: outlives it.
  explicit GpuEnergyCounter(const GpuMonitor& watch) : watch_(watch) {}
  Result<double> Joules() override { return watch_.Joules(); }
  double update_period_seconds() const override { return 20e-3; }

 private:
  const GpuMonitor& watch_;
};

/// A device in use by this process, with what is kept between candidates.
struct CudaDeviceState {
  DeviceLock lock;
  std::unique_ptr<CudaSession> session;
  std::optional<GpuMonitor> watch;  ///< none where there is no NVML: every moment is quiet then
  std::optional<GpuEnergyCounter> energy;  ///< of `watch`, if joules are to be counted
  DeviceClock clock;
  NoiseFilter gate;
  CudaMemory flush;
};

/// Takes a device and measures on it.
class CudaRunner final : public DeviceRunner {
 public:
  explicit CudaRunner(const RunWorkerSettings& settings)
      : settings_(settings.cuda), joules_(settings.joules), sampling_(settings.sampling) {}

  /// The device is taken with the first order.
  Result<std::vector<RunReply>> Run(const RunOrder& order, OperandCache& operand_cache) override;

 private:
  Status Open();
  RunReply RunAlone(const RunOrder::Item& item, OperandCache& operand_cache);
  std::vector<RunReply> Race(const RunOrder& order, OperandCache& operand_cache);
  /// Nothing works in this process any more.
  bool broken() const;
  /// Sets runner_ends where the device's state asks for it.
  RunReply WithDeviceState(RunReply reply) const;

  const CudaWorkerSettings settings_;
  const bool joules_;
  SamplingSettings sampling_;
  std::unique_ptr<CudaDeviceState> device_state_;
};

}  // namespace tilewright::measure
