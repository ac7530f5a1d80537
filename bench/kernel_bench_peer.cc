#include "bench/kernel_bench_peer.h"

#include <array>
#include <cstring>
#include <dnnl.hpp>
#include <functional>
#include <unordered_map>
#include <utility>

#include "bench/kernel_bench_blas.h"

extern "C" void omp_set_num_threads(int threads);  // of oneDNN's threading library

namespace tilewright::bench {
namespace {

using dnnl::memory;
using Type = memory::data_type;
using Tag = memory::format_tag;

constexpr float kOutputScale = 0.0005f;

/// Primitive and its memories.
struct Primitive final : Runnable {
  void Run() override {
    primitive.execute(stream, arguments);
    stream.wait();
  }

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

dnnl::primitive_attr Attributes(bool quantized) {
  dnnl::primitive_attr attributes;
  dnnl::post_ops followers;
  followers.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  attributes.set_post_ops(followers);
  if (quantized) attributes.set_output_scales(0, {kOutputScale});
  return attributes;
}

memory Filled(const memory::desc& description, const dnnl::engine& engine) {
  memory result(description, engine);
  auto* bytes = static_cast<unsigned char*>(result.get_data_handle());
  if (description.data_type() == Type::f32) {
    const float value = 0.01f;
    for (std::size_t i = 0; i + 4 <= description.get_size(); i += 4)
      std::memcpy(bytes + i, &value, 4);
  } else {
    std::memset(bytes, 1, description.get_size());
  }
  return result;
}

struct Types {
  Type data, weight, bias, result;
};

void MakeConvolution(const ConvShape& s, const Types& types, dnnl::algorithm algorithm,
                     Primitive& peer) {
  const bool grouped = s.groups > 1;
  const memory::desc data({s.n, s.c, s.h, s.w}, types.data, Tag::any);
  const memory::desc weight =
      grouped ? memory::desc({s.groups, s.k / s.groups, s.c / s.groups, s.r, s.s}, types.weight,
                             Tag::any)
              : memory::desc({s.k, s.c, s.r, s.s}, types.weight, Tag::any);
  const memory::desc bias({s.k}, types.bias, Tag::x);
  const memory::desc result({s.n, s.k, s.oh, s.ow}, types.result, Tag::any);
  const dnnl::convolution_forward::desc operation(
      dnnl::prop_kind::forward_inference, algorithm, data, weight, bias, result,
      {s.stride_h, s.stride_w}, {s.dilation_h - 1, s.dilation_w - 1}, {s.pad_top, s.pad_left},
      {s.pad_bottom, s.pad_right});
  const dnnl::convolution_forward::primitive_desc chosen(
      operation, Attributes(types.data != Type::f32), peer.engine);
  peer.primitive = dnnl::convolution_forward(chosen);
  peer.arguments = {{DNNL_ARG_SRC, Filled(chosen.src_desc(), peer.engine)},
                    {DNNL_ARG_WEIGHTS, Filled(chosen.weights_desc(), peer.engine)},
                    {DNNL_ARG_BIAS, Filled(chosen.bias_desc(), peer.engine)},
                    {DNNL_ARG_DST, Filled(chosen.dst_desc(), peer.engine)}};
}

void MakeInnerProduct(const Workload& w, const Types& types, Primitive& peer) {
  const std::int64_t m = w.data.shape[0], k = w.data.shape[1], n = w.weight.shape[0];
  const dnnl::inner_product_forward::desc operation(
      dnnl::prop_kind::forward_inference, memory::desc({m, k}, types.data, Tag::any),
      memory::desc({n, k}, types.weight, Tag::any), memory::desc({n}, types.bias, Tag::x),
      memory::desc({m, n}, types.result, Tag::any));
  const dnnl::inner_product_forward::primitive_desc chosen(
      operation, Attributes(types.data != Type::f32), peer.engine);
  peer.primitive = dnnl::inner_product_forward(chosen);
  peer.arguments = {{DNNL_ARG_SRC, Filled(chosen.src_desc(), peer.engine)},
                    {DNNL_ARG_WEIGHTS, Filled(chosen.weights_desc(), peer.engine)},
                    {DNNL_ARG_BIAS, Filled(chosen.bias_desc(), peer.engine)},
                    {DNNL_ARG_DST, Filled(chosen.dst_desc(), peer.engine)}};
}

/// Creates dense and batch_matmul as [batch,] m x k times k x n; a constant right side in any
/// layout.
void MakeMatmul(const Workload& w, const Types& types, Primitive& peer) {
  const bool one = w.op == OpKind::kDense;
  const auto& a = w.data.shape;
  const auto& b = w.weight.shape;
  const std::int64_t m = a[a.size() - 2], k = a.back(), n = b[b.size() - 2];
  memory::dims data = {m, k}, weight = {k, n}, bias = {1, n}, result = {m, n};
  if (!one) {
    for (memory::dims* dims : {&data, &weight, &result}) dims->insert(dims->begin(), a[0]);
  }
  const Tag plain = one ? Tag::ab : Tag::abc;
  const memory::desc left(data, types.data, plain),
      right(weight, types.weight, one ? Tag::any : Tag::acb), out(result, types.result, plain);
  const auto operation =
      one ? dnnl::matmul::desc(left, right, memory::desc(bias, types.bias, Tag::ab), out)
          : dnnl::matmul::desc(left, right, out);
  const dnnl::matmul::primitive_desc chosen =
      one ? dnnl::matmul::primitive_desc(operation, Attributes(types.data != Type::f32),
                                         peer.engine)
          : dnnl::matmul::primitive_desc(operation, peer.engine);
  peer.primitive = dnnl::matmul(chosen);
  peer.arguments = {{DNNL_ARG_SRC, Filled(chosen.src_desc(), peer.engine)},
                    {DNNL_ARG_WEIGHTS, Filled(chosen.weights_desc(), peer.engine)},
                    {DNNL_ARG_DST, Filled(chosen.dst_desc(), peer.engine)}};
  if (one) peer.arguments[DNNL_ARG_BIAS] = Filled(chosen.bias_desc(), peer.engine);
}

/// Adds the peer, or nothing if the library has no such primitive, which its C++ interface reports
/// by an exception.
void Add(std::vector<Peer>& peers, std::string name, const std::function<void(Primitive&)>& make) {
  auto primitive = std::make_unique<Primitive>();
  try {
    make(*primitive);
  } catch (const dnnl::error&) {
    return;
  }
  peers.push_back({std::move(name), std::move(primitive)});
}

}  // namespace

void LimitPeers(Mode mode, int threads) {
  omp_set_num_threads(threads);
  LimitBlas(threads);
  if (mode == Mode::kInt8Vnni) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_vnni);
  if (mode == Mode::kFloat32Avx2 || mode == Mode::kInt8Avx2)
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
}

std::vector<Peer> MakePeers(const Workload& workload, Mode mode) {
  const Types types = IsInt8(mode) ? Types{Type::u8, Type::s8, Type::s32, Type::u8}
                                   : Types{Type::f32, Type::f32, Type::f32, Type::f32};
  std::vector<Peer> peers;
  if (const auto shape = ConvShapeOf(workload); shape.ok()) {
    if (workload.op == OpKind::kConv2dTranspose) return peers;
    constexpr std::array kAlgorithms = {
        std::pair{"direct", dnnl::algorithm::convolution_direct},
        std::pair{"winograd", dnnl::algorithm::convolution_winograd}};
    for (const auto& [name, algorithm] : kAlgorithms) {
      Add(peers, name, [&, algorithm = algorithm](Primitive& peer) {
        MakeConvolution(*shape, types, algorithm, peer);
      });
    }
    return peers;
  }
  if (workload.op == OpKind::kDense) {
    Add(peers, "inner product", [&](Primitive& peer) { MakeInnerProduct(workload, types, peer); });
  }
  Add(peers, "matmul", [&](Primitive& peer) { MakeMatmul(workload, types, peer); });
  if (mode == Mode::kFloat32) {
    for (Peer& peer : MakeBlasPeers(workload)) peers.push_back(std::move(peer));
  }
  return peers;
}

}  // namespace tilewright::bench
