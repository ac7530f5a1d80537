#pragma once

#include <array>
#include <vector>

#include "measure/device/grid_candidate.h"

namespace tilewright::measure {

/// Candidate on a GPU: its module and one allocation that contains all of its tensors, separated by
/// zones of a known byte pattern.
class GridKernel final : public CandidateKernel {
 public:
  /// item, device_state: must outlive the kernel. limit_seconds: for one call or one batch of short
  /// calls.
  GridKernel(const RunOrder::Item& item, GridDeviceState& device_state, double limit_seconds)
      : kernel_(item.kernel), device_state_(device_state), limit_seconds_(limit_seconds) {}
  /// Sets the operands, which stay valid until the next Use. Call it before Load, and again before
  /// a verification if the operand cache prepared another kernel in between.
  void Use(const OperandCache::KernelOperands& kernel_operands);

  std::optional<Failure> Load() override;
  void SetPhase(Phase phase) override { phase_ = phase; }
  std::optional<Failure> SelectInputs(InputSet set) override;
  std::optional<Failure> Poison(InputSet set) override;
  bool Run(std::int64_t calls) override;
  void Flush(std::int64_t bytes) override;
  /// Runs no kernel: returns the duration of one multiprocessor clock cycle, which is longer while
  /// the GPU is throttled; on a device that is this processor, the time of an interference probe.
  double ProbeSeconds() override;
  std::optional<Failure> CheckSideEffects() override;
  std::optional<Failure> CheckOutput(InputSet set, RunReply& reply) override;
  double last_call_seconds() const override { return last_call_seconds_; }

 private:
  /// A tensor or workspace in memory_.
  struct Piece {
    std::int64_t offset = 0, bytes = 0;
    int parameter = 0;                    // -1: a workspace
    const GuardedMemory* from = nullptr;  // source of an input's contents
  };
  Status Prepare();
  /// Returns the piece that contains this input; creates it if necessary.
  std::size_t PieceOf(const GuardedMemory* input, int parameter);
  std::size_t AddPiece(std::int64_t bytes, int parameter, const GuardedMemory* from);
  std::uint64_t AddressOf(const Piece& piece) const;
  Status FillZones();
  /// Errors: kCorrupt naming the piece next to a zone that has changed, or an input that has.
  Status CheckZones();
  Status CheckInputs();
  Failure FailureOf(const Status& status) const;

  const KernelSpec& kernel_;
  GridDeviceState& device_state_;
  const double limit_seconds_;
  const OperandCache::KernelOperands* kernel_operands_ = nullptr;
  Phase phase_ = Phase::kLoading;
  GridMemory memory_;
  std::vector<Piece> pieces_;  // ascending offsets, a zone before each and after the last
  std::array<std::vector<std::size_t>, kInputSets.size()> inputs_;  // pieces of each set
  std::size_t output_ = 0;
  std::vector<std::size_t> workspaces_;
  std::int64_t total_bytes_ = 0;
  std::vector<std::byte> zones_;
  GridProgram program_;
  Status status_;  // of the calls since Load
  std::uint8_t poison_ = 0;
  double last_call_seconds_ = 0;
};

}  // namespace tilewright::measure
