#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/fleet/wire.h"

namespace tilewright::measure::fleet {

/// What a worker builds and measures with: one device and its builders.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Something that happened to an order.
  struct Event {
    std::uint64_t number = 0;  ///< as given to Start
    bool over = true;          ///< false: it has only begun
    std::vector<Trial> trials;
    std::optional<Built> built;  ///< of an order that was only to be built
    std::string artifact;        ///< ... and its bytes
    std::string refusal;
    double seconds = 0;  ///< that it kept the device, or a builder, busy
  };

  /// Takes an order, which it works on when those before are done. Never blocks.
  /// artifacts: the bytes of what `order.built` names, checked.
  virtual void Start(std::uint64_t number, const Order& order,
                     const std::vector<std::string>& artifacts) = 0;
  /// Nobody wants it any more: no more events of it need come.
  virtual void Drop(std::uint64_t number) = 0;
  /// What has happened since the last call.
  virtual std::vector<Event> Take() = 0;
  /// When Take will have something, in seconds of a monotonic clock; infinite: nobody knows, and
  /// the broker's Wake is called then.
  virtual double next_event() const = 0;
  /// Seconds that a constant piece of work took on the device in the last moments; 0: unknown.
  virtual double probe_seconds() const { return 0; }
  /// Not ok: it can not go on at all.
  virtual Status status() const { return {}; }
};

}  // namespace tilewright::measure::fleet
