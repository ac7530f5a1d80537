#pragma once

#include <vector>

#include "bench/kernel_bench_peer.h"

namespace tilewright::bench {

/// Returns a BLAS library's sgemm of dense and batch_matmul in float32; empty for other workloads,
/// and if the build found no such library.
std::vector<Peer> MakeBlasPeers(const Workload& workload);
void LimitBlas(int threads);

}  // namespace tilewright::bench
