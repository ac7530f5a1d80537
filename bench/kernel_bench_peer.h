#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/workload.h"

namespace tilewright::bench {

/// What is compared: number types and the instruction set both sides may use.
enum class Mode { kFloat32, kInt8Vnni, kFloat32Avx2, kInt8Avx2 };
inline bool IsInt8(Mode mode) { return mode == Mode::kInt8Vnni || mode == Mode::kInt8Avx2; }

/// Something that can be run again and again.
class Runnable {
 public:
  virtual ~Runnable() = default;
  virtual void Run() = 0;
};

/// One way in which a library computes a workload.
struct Peer {
  std::string name;  ///< e.g. "winograd"
  std::unique_ptr<Runnable> runnable;
};

/// Restricts the libraries to the instruction set of the mode and to so many threads. Call before
/// the first MakePeers.
void LimitPeers(Mode mode, int threads);

/// oneDNN's algorithms for the workload (convolution: direct and Winograd; matrix products: inner
/// product, matmul) with bias and relu (batch_matmul: without), layouts of its choice, constant
/// weights packed beforehand; int8: requantized to uint8. Of matrix products in float32 also the
/// BLAS library's, without bias and relu. Those that a library does not have are left out.
std::vector<Peer> MakePeers(const Workload& workload, Mode mode);

}  // namespace tilewright::bench
