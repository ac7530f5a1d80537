#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/workload.h"

namespace tilewright::bench {

/// Compared number types, and the instruction set that both sides may use.
enum class Mode { kFloat32, kInt8Vnni, kFloat32Avx2, kInt8Avx2 };
inline bool IsInt8(Mode mode) { return mode == Mode::kInt8Vnni || mode == Mode::kInt8Avx2; }

/// Interface of a repeatable computation.
class Runnable {
 public:
  virtual ~Runnable() = default;
  virtual void Run() = 0;
};

/// One algorithm of a library for a workload.
struct Peer {
  std::string name;  ///< e.g. "winograd"
  std::unique_ptr<Runnable> runnable;
};

/// Restricts the libraries to the instruction set of the mode and to `threads` threads. Call before
/// the first MakePeers.
void LimitPeers(Mode mode, int threads);

/// Returns oneDNN's algorithms for the workload (convolution: direct and Winograd; matrix products:
/// inner product, matmul) with bias and relu (batch_matmul: without), layouts of its choice,
/// constant weights packed beforehand; int8: requantized to uint8. For matrix products in float32
/// also the BLAS library's, without bias and relu. Skips algorithms that a library does not have.
std::vector<Peer> MakePeers(const Workload& workload, Mode mode);

}  // namespace tilewright::bench
