// Rate of the reference evaluator, in multiply-accumulates per second on one thread. At least 1e9
// keeps verification from slowing a search.
#include <benchmark/benchmark.h>

#include <string>

#include "src/base/random.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/workload.h"

namespace tilewright {
namespace {

Tensor Fill(const TensorType& type, std::uint64_t seed) {
  Tensor tensor(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::uint32_t k = SeededElement(seed, static_cast<std::uint64_t>(i));
    tensor.Set(i, type.dtype.is_float() ? k * 0x1p-23 - 1 : static_cast<double>(k % 100));
  }
  return tensor;
}

void Run(benchmark::State& state, const std::string& key) {
  const auto workload = Workload::Parse(key);
  TW_CHECK(workload.ok(), workload.status().message());
  const Tensor data = Fill(workload->data, 1), weight = Fill(workload->weight, 2);
  for (auto _ : state) {
    auto result = EvaluateAnchor(*workload, {}, data, weight, {}, 1);
    TW_CHECK(result.ok(), result.status().message());
    benchmark::DoNotOptimize(result->data());
  }
  const double macs =
      static_cast<double>(workload->macs()) * static_cast<double>(state.iterations());
  state.counters["GMAC/s"] = benchmark::Counter(macs / 1e9, benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(Run, conv3x3_float32,
                  std::string("conv2d(float32[1,128,28,28]NCHW,float32[128,128,3,3]OIHW,s1x1,"
                              "p1x1x1x1,d1x1,g1)->float32"));
BENCHMARK_CAPTURE(Run, conv3x3_int8,
                  std::string("conv2d(int8[1,128,28,28]NCHW,int8[128,128,3,3]OIHW,s1x1,p1x1x1x1,"
                              "d1x1,g1)->int32"));
BENCHMARK_CAPTURE(Run, conv3x3_int16,
                  std::string("conv2d(int16[1,128,28,28]NCHW,int16[128,128,3,3]OIHW,s1x1,p1x1x1x1,"
                              "d1x1,g1)->int32"));
BENCHMARK_CAPTURE(Run, conv1x1_float32,
                  std::string("conv2d(float32[1,256,14,14]NCHW,float32[1024,256,1,1]OIHW,s1x1,"
                              "p0x0x0x0,d1x1,g1)->float32"));
BENCHMARK_CAPTURE(Run, conv7x7_float32,
                  std::string("conv2d(float32[1,3,224,224]NCHW,float32[64,3,7,7]OIHW,s2x2,p3x3x3x3,"
                              "d1x1,g1)->float32"));
BENCHMARK_CAPTURE(Run, depthwise_float32,
                  std::string("depthwise_conv2d(float32[1,144,56,56]NCHW,float32[144,1,3,3]OIHW,"
                              "s1x1,p1x1x1x1,d1x1,g144)->float32"));
BENCHMARK_CAPTURE(Run, group_float32,
                  std::string("group_conv2d(float32[1,136,28,28]NCHW,float32[272,34,1,1]OIHW,s1x1,"
                              "p0x0x0x0,d1x1,g4)->float32"));
BENCHMARK_CAPTURE(Run, dense_float32,
                  std::string("dense(float32[1,2048]MK,float32[1000,2048]NK)->float32"));
BENCHMARK_CAPTURE(Run, dense_int8, std::string("dense(int8[16,2048]MK,int8[1000,2048]NK)->int32"));

}  // namespace
}  // namespace tilewright

BENCHMARK_MAIN();
