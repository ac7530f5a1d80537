#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "measure/evaluate/guarded_memory.h"

namespace tilewright::measure {

/// Pool of memory that the runner shares with candidates' processes, kept between candidates. A
/// process inherits a piece only if it is forked while the piece is leased and inheritable. Not
/// thread-safe.
class SharedMemoryPool {
 public:
  /// Lease of a piece of memory; the destructor returns it. The pool must outlive it. Move-only.
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

  /// Leases a piece of exactly `bytes` bytes that processes inherit. The contents are an earlier
  /// candidate's, or zero. Errors: kUnavailable without memory.
  Result<Lease> Take(std::int64_t bytes);

 private:
  std::vector<std::unique_ptr<Lease::Piece>> pieces_;  // in the order of their last use
};

}  // namespace tilewright::measure
