#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "measure/evaluate/guarded_memory.h"

namespace tilewright::measure {

/// Memory that the runner shares with candidates' processes, kept between candidates. Only
/// processes that are forked while a piece is lent and inherited get it. Not thread-safe.
class SharedMemoryPool {
 public:
  /// A piece of the memory, given back by the destructor. Its pool outlives it. Move-only.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();
    GuardedMemory* get() const { return piece_ == nullptr ? nullptr : &piece_->memory; }
    GuardedMemory* operator->() const { return get(); }
    GuardedMemory& operator*() const { return *get(); }

   private:
    friend class SharedMemoryPool;
    struct Piece {
      GuardedMemory memory;
      bool lent = false;
    };
    explicit Lease(Piece* piece) : piece_(piece) {}
    Piece* piece_ = nullptr;
  };

  /// A piece of exactly so many bytes that processes inherit. Contents are any of earlier
  /// candidates', or zero. Errors: kUnavailable without memory.
  Result<Lease> Take(std::int64_t bytes);

 private:
  std::vector<std::unique_ptr<Lease::Piece>> pieces_;  // in the order of their last use
};

}  // namespace tilewright::measure
