#include "bench/kernel_bench_blas.h"

#if TILEWRIGHT_HAS_OPENBLAS
#include <cblas.h>
#endif

namespace tilewright::bench {

#if TILEWRIGHT_HAS_OPENBLAS
namespace {

/// Computes C[b, m, n] = sum over k of A[b, m, k] * B[b, n, k].
class Product final : public Runnable {
 public:
  Product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k)
      : batch_(batch),
        m_(m),
        n_(n),
        k_(k),
        a_(static_cast<std::size_t>(batch * m * k), 0.01F),
        b_(static_cast<std::size_t>(batch * n * k), 0.01F),
        c_(static_cast<std::size_t>(batch * m * n)) {}

  void Run() override {
    for (std::int64_t i = 0; i < batch_; ++i) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(m_),
                  static_cast<int>(n_), static_cast<int>(k_), 1.0F, a_.data() + i * m_ * k_,
                  static_cast<int>(k_), b_.data() + i * n_ * k_, static_cast<int>(k_), 0.0F,
                  c_.data() + i * m_ * n_, static_cast<int>(n_));
    }
  }

 private:
  const std::int64_t batch_, m_, n_, k_;
  std::vector<float> a_, b_, c_;
};

}  // namespace

std::vector<Peer> MakeBlasPeers(const Workload& workload) {
  std::vector<Peer> peers;
  const bool one = workload.op == OpKind::kDense;
  if ((!one && workload.op != OpKind::kBatchMatmul) || !workload.data.dtype.is_float()) {
    return peers;
  }
  const auto& data = workload.data.shape;
  const auto& weight = workload.weight.shape;
  peers.push_back({"sgemm", std::make_unique<Product>(one ? 1 : data[0], data[data.size() - 2],
                                                      weight[weight.size() - 2], data.back())});
  return peers;
}

void LimitBlas(int threads) { openblas_set_num_threads(threads); }
#else
std::vector<Peer> MakeBlasPeers(const Workload& /*workload*/) { return {}; }
void LimitBlas(int /*threads*/) {}
#endif

}  // namespace tilewright::bench
