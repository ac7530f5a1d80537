#pragma once

#include <memory>

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

/// Restricts oneDNN to the instruction set of the mode and to one thread. Call before the first
/// MakePeer.
void LimitPeer(Mode mode);

/// oneDNN's direct convolution (inner product for dense) of the workload with bias and relu, one
/// thread, layouts of its choice, weights packed beforehand; int8: requantized to uint8.
/// Errors: kUnsupported with oneDNN's words.
Result<std::unique_ptr<Runnable>> MakePeer(const Workload& workload, Mode mode);

}  // namespace tilewright::bench
