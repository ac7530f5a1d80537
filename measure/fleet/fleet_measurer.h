#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "measure/fleet/dispatcher.h"
#include "measure/measurer.h"

namespace tilewright::measure::fleet {

/// Confirmation of a race's winner by a second device.
struct Confirmation {
  std::string workload;  ///< key
  /// Empty if a second device confirmed the winner. Otherwise the reason: no second device, or it
  /// measured another time.
  std::string unconfirmed_reason;
};

/// Measurer on the fleet's devices of one class.
class FleetMeasurer final : public Measurer {
 public:
  /// Connects the measurer to its fleet. stop: once true, waits for devices end with kUnavailable;
  /// may be null. broker, clock, stop: have to outlive the measurer. Errors: the broker's.
  static Result<std::unique_ptr<FleetMeasurer>> Create(DispatcherSettings settings, Broker& broker,
                                                       Clock& clock,
                                                       const std::atomic<bool>* stop = nullptr);
  FleetMeasurer(DispatcherSettings settings, Broker& broker, Clock& clock,
                const std::atomic<bool>* stop);  ///< use Create
  ~FleetMeasurer() override;

  Status Submit(Request request) override;
  Result<std::optional<Reply>> Next(double timeout_seconds) override;
  void MarkStored(std::uint64_t ticket) override { dispatcher_.MarkStored(ticket); }
  int in_flight() const override { return dispatcher_.in_flight(); }
  std::vector<std::uint64_t> CancelPending() override;
  int capacity() const override;
  TimeSplit time_split() const override;
  const DeviceFingerprint& device() const override { return device_; }
  double resolution() const override;
  /// Races the finalists on one device, then measures the winner on a second device if there is
  /// one.
  Result<std::vector<Trial>> Race(const std::vector<Candidate>& finalists,
                                  const RaceSettings& terms) override;

  const std::vector<Confirmation>& confirmations() const { return confirmations_; }
  Dispatcher& dispatcher() { return dispatcher_; }
  const Dispatcher& dispatcher() const { return dispatcher_; }

 private:
  Result<Dispatcher::RaceResult> RaceOn(const std::vector<Candidate>& finalists,
                                        const RaceSettings& terms,
                                        const std::optional<DeviceName>& other_than, bool must);
  /// Replaces the trials of `first` if another worker does not confirm its winner's time.
  void Confirm(const std::vector<Candidate>& finalists, const RaceSettings& terms,
               Dispatcher::RaceResult& first);
  bool stopped() const { return stop_ != nullptr && stop_->load(); }
  void Account();
  void NoteWaiting();

  const DispatcherSettings settings_;
  const DeviceFingerprint device_;
  Clock& clock_;
  const std::atomic<bool>* stop_;
  Dispatcher dispatcher_;
  const double start_seconds_;
  double rated_at_ = 0, rate_ = 0;  // results per second, over the last second or so
  std::int64_t rated_done_ = 0;
  double logged_at_ = 0, builders_at_ = 0, accounted_at_ = 0, idle_seconds_ = 0;
  std::vector<Confirmation> confirmations_;
};

}  // namespace tilewright::measure::fleet
