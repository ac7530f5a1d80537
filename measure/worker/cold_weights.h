#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "measure/evaluate/guarded_memory.h"
#include "measure/messages.h"
#include "src/ir/dtype.h"

namespace tilewright::measure {

/// The parameter of a kernel that a compiled network keeps and reads from afar whenever it runs:
/// the weight of an anchor, the largest constant of an expression (floats or bytes). nullopt: it
/// has none, or it runs on no processor. What else is constant (an element per channel) is too
/// small to matter.
std::optional<std::size_t> WeightOf(const KernelSpec& kernel);

/// Memory beyond the caches that stands for the weights of a network. When a network runs again the
/// weights of a layer are in no cache near the core: those of all other layers went through since.
/// A kernel that is timed with the same weight in every call is another one: what waits for memory
/// is not seen, and what fetches ahead seems to do so for nothing. So each timed call takes the
/// next window of this memory for its weight. What the numbers are does not matter for the time.
class ColdWeights {
 public:
  /// Twice the last cache of the machine, within 16 to 128 MiB; where nobody knows it (0), 128 MiB.
  static std::int64_t BytesFor(std::int64_t last_cache_bytes);

  ColdWeights() = default;
  /// Takes address space; memory when it is filled. Errors: kUnavailable without.
  static Result<ColdWeights> Create(std::int64_t bytes);

  /// What of 64 random bits is kept and what is set, so that they are numbers of a type.
  struct Bits {
    std::uint64_t keep = ~std::uint64_t{0}, set = 0;
    friend bool operator==(const Bits&, const Bits&) = default;
  };

  /// Plain numbers of this type everywhere: floats from 0.5 to 1 and their negatives, any integers.
  void Fill(DataType dtype);
  const GuardedMemory& memory() const { return memory_; }
  /// See GuardedMemory.
  void SetInherited(bool inherited) { memory_.SetInherited(inherited); }
  /// Those for a weight of so many bytes, spread evenly. A count of 1: it is as large as all of the
  /// memory, and so far away by itself.
  struct Windows {
    const std::byte* first = nullptr;
    std::int64_t stride = 0;  ///< bytes from one to the next
    std::int64_t count = 1;
  };
  Windows WindowsFor(std::int64_t weight_bytes) const;

  /// Forgets what Place has put anywhere.
  void Begin() { placed_.clear(); }
  /// Copies the real weight to one of its windows, chosen by `random`, where the last timed call of
  /// a kernel reads it: what that gives can be verified. Before the kernel's process is forked.
  /// Equal weights share a window. returns the window's number; -1 if there is none that leaves
  /// what was placed before alone.
  std::int64_t Place(const GuardedMemory& weight, std::uint64_t random);

 private:
  GuardedMemory memory_;
  std::optional<Bits> filled_;
  std::vector<std::pair<std::int64_t, std::int64_t>> placed_;  // first byte, end
};

/// A library that kernels call keeps its own copy of each weight, which takes time to make: of
/// weights below some KiB not as many as would come from beyond all caches.
inline constexpr std::int64_t kMaxPreparedWindows = 8192;

}  // namespace tilewright::measure
