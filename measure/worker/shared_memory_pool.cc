#include "measure/worker/shared_memory_pool.h"

#include <algorithm>
#include <utility>

namespace tilewright::measure {
namespace {

/// Maximum bytes kept for later candidates; beyond it the oldest pieces are freed.
constexpr std::int64_t kMaxKeptBytes = std::int64_t{256} << 20;

}  // namespace

SharedMemoryPool::Lease::Lease(Lease&& other) noexcept
    : piece_(std::exchange(other.piece_, nullptr)) {}

SharedMemoryPool::Lease& SharedMemoryPool::Lease::operator=(Lease&& other) noexcept {
  std::swap(piece_, other.piece_);
  return *this;
}

SharedMemoryPool::Lease::~Lease() {
  if (piece_ == nullptr) return;
  piece_->memory.SetInherited(false);
  piece_->lent = false;
}

Result<SharedMemoryPool::Lease> SharedMemoryPool::Take(std::int64_t bytes) {
  const auto found = std::ranges::find_if(
      pieces_, [&](const auto& piece) { return !piece->lent && piece->memory.bytes() == bytes; });
  std::unique_ptr<Lease::Piece> piece;
  if (found != pieces_.end()) {
    piece = std::move(*found);
    pieces_.erase(found);
    piece->memory.FillRedZones();  // the previous candidate may have written there
  } else {
    TW_ASSIGN_OR_RETURN(auto memory, GuardedMemory::Create(bytes, /*shared=*/true));
    piece = std::make_unique<Lease::Piece>(Lease::Piece{std::move(memory)});
  }
  std::int64_t kept = bytes;
  for (const auto& other : pieces_) kept += other->memory.bytes();
  for (auto oldest = pieces_.begin(); kept > kMaxKeptBytes && oldest != pieces_.end();) {
    if ((*oldest)->lent) {
      ++oldest;
      continue;
    }
    kept -= (*oldest)->memory.bytes();
    oldest = pieces_.erase(oldest);
  }
  piece->lent = true;
  piece->memory.SetInherited(true);
  pieces_.push_back(std::move(piece));
  return Lease(pieces_.back().get());
}

}  // namespace tilewright::measure
