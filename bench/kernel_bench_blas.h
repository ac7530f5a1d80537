#pragma once

#include <vector>

#include "bench/kernel_bench_peer.h"

namespace tilewright::bench {

/// A BLAS library's sgemm of dense and batch_matmul in float32; empty for the rest, and where no
/// such library was there when this was built.
std::vector<Peer> MakeBlasPeers(const Workload& workload);
void LimitBlas(int threads);

}  // namespace tilewright::bench
