#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "measure/evaluate/guarded_memory.h"
#include "measure/messages.h"
#include "src/ir/dtype.h"

namespace tilewright::measure {

/// Returns the parameter of a kernel that a compiled network stores and reads cold on each run: the
/// weight of an anchor, the largest constant of an expression (floats or bytes). Returns nullopt if
/// it has none, or does not run on a processor. Other constants (an element per channel) are too
/// small to matter.
std::optional<std::size_t> WeightOf(const KernelSpec& kernel);

/// Cold weights: memory beyond the caches in place of a network's weights. When a network runs
/// again, the weights of a layer are in no cache near the core, because those of all other layers
/// replaced them. Timing with the same weight in every call differs from that: it does not show
/// waits for memory, and prefetching appears useless. So each timed call takes the next window of
/// this memory as its weight. The values do not affect the time.
class ColdWeights {
 public:
  /// Returns twice the size of the machine's last-level cache, within 16 to 128 MiB; 128 MiB if the
  /// size is unknown (0).
  static std::int64_t BytesFor(std::int64_t last_cache_bytes);

  ColdWeights() = default;
  /// Reserves address space; filling it allocates the memory. Errors: kUnavailable without address
  /// space.
  static Result<ColdWeights> Create(std::int64_t bytes);

  /// Masks that turn 64 random bits into ordinary values of a type: bits to keep and bits to set.
  struct Bits {
    std::uint64_t keep = ~std::uint64_t{0}, set = 0;
    friend bool operator==(const Bits&, const Bits&) = default;
  };

  /// Fills the memory with ordinary values of this type: floats from 0.5 to 1 and their negatives,
  /// any integers.
  void Fill(DataType dtype);
  const GuardedMemory& memory() const { return memory_; }
  /// See GuardedMemory.
  void SetInherited(bool inherited) { memory_.SetInherited(inherited); }
  /// Returns the windows for a weight of `bytes` bytes, spread evenly. A count of 1: the weight is
  /// as large as the memory, and so always cold.
  struct Windows {
    const std::byte* first = nullptr;
    std::int64_t stride = 0;  ///< bytes from one window to the next
    std::int64_t count = 1;
  };
  Windows WindowsFor(std::int64_t weight_bytes) const;

  /// Forgets all weights that Place has copied.
  void Begin() { placed_.clear(); }
  /// Copies the real weight to one of its windows, chosen by `random`. The last timed call of a
  /// kernel reads it there, so that its result can be verified. Call it before the kernel's process
  /// is forked. Equal weights share a window. Returns the window's number; -1 if every window would
  /// overwrite a placed weight.
  std::int64_t Place(const GuardedMemory& weight, std::uint64_t random);

 private:
  GuardedMemory memory_;
  std::optional<Bits> filled_;
  std::vector<std::pair<std::int64_t, std::int64_t>> placed_;  // first byte, end
};

/// Returns the limit of cold weights for a library that kernels call. It keeps its own copy of each
/// weight, which takes time to make, so weights below some KiB have fewer copies than the caches
/// hold.
inline constexpr std::int64_t kMaxPreparedWindows = 8192;

}  // namespace tilewright::measure
