#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/fleet/wire.h"

namespace tilewright::measure::fleet {

/// Interface that a worker builds and measures with: one device and its builders.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Event of one order.
  struct Event {
    std::uint64_t number = 0;  ///< number that Start received
    bool over = true;          ///< false: the order has only started
    std::vector<Trial> trials;
    std::optional<Built> built;  ///< of a build-only order
    std::string artifact;        ///< bytes of this artifact
    std::string refusal;
    double seconds = 0;  ///< time that the order occupied the device or a builder
  };

  /// Queues an order after the earlier ones. Never blocks. artifacts: verified bytes of the
  /// artifacts that `order.built` names.
  virtual void Start(std::uint64_t number, const Order& order,
                     const std::vector<std::string>& artifacts) = 0;
  /// Cancels an order. Further events of it are optional.
  virtual void Drop(std::uint64_t number) = 0;
  /// Returns the events since the last call.
  virtual std::vector<Event> Take() = 0;
  /// Returns the monotonic time in seconds at which Take will have an event. Infinite: unknown; the
  /// executor then calls the broker's Wake.
  virtual double next_event() const = 0;
  /// Returns the most recent interference probe of the device, in seconds; 0: unknown.
  virtual double probe_seconds() const { return 0; }
  /// Returns an error if the executor cannot continue.
  virtual Status status() const { return {}; }
};

}  // namespace tilewright::measure::fleet
