#pragma once

#include <ostream>

namespace tilewright {

/// Small graphs with the typical parts of networks, as Relay text.
struct Network {
  const char* name;
  const char* text;
};
inline void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

inline constexpr Network kNetworks[] = {
    {"ConvBatchNormReluPoolDense", R"(def @main(%data: Tensor[(1, 3, 16, 16), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 3, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.batch_norm(%0, meta[relay.Constant][1] /* ty=Tensor[(32), float32] */, meta[relay.Constant][2] /* ty=Tensor[(32), float32] */, meta[relay.Constant][3] /* ty=Tensor[(32), float32] */, meta[relay.Constant][4] /* ty=Tensor[(32), float32] */);
  %2 = nn.relu(%1.0);
  %3 = nn.conv2d(%2, meta[relay.Constant][5] /* ty=Tensor[(32, 32, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %4 = nn.bias_add(%3, meta[relay.Constant][6] /* ty=Tensor[(32), float32] */);
  %5 = add(%4, %2);
  %6 = nn.relu(%5);
  %7 = nn.max_pool2d(%6, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
  %8 = nn.global_avg_pool2d(%7);
  %9 = nn.batch_flatten(%8);
  %10 = nn.dense(%9, meta[relay.Constant][7] /* ty=Tensor[(10, 32), float32] */);
  %11 = nn.bias_add(%10, meta[relay.Constant][8] /* ty=Tensor[(10), float32] */);
  nn.softmax(%11)
})"},
    {"OddChannels", R"(def @main(%data: Tensor[(2, 5, 9, 7), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(13, 5, 3, 3), float32] */, strides=[2, 2], padding=[1, 0, 2, 1]);
  %1 = sigmoid(%0);
  %2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(7, 13, 1, 1), float32] */);
  %3 = nn.avg_pool2d(%2, pool_size=[2, 2]);
  nn.relu(%3)
})"},
    {"Concat", R"(def @main(%data: Tensor[(1, 16, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 16, 1, 1), float32] */);
  %1 = nn.conv2d(%0, meta[relay.Constant][1] /* ty=Tensor[(16, 32, 3, 3), float32] */, padding=[1, 1]);
  %2 = (%0, %1, %data);
  %3 = concatenate(%2, axis=1);
  %4 = multiply(%3, meta[relay.Constant][2] /* ty=Tensor[(64, 1, 1), float32] */);
  %5 = tanh(%4);
  %6 = nn.conv2d(%5, meta[relay.Constant][3] /* ty=Tensor[(24, 64, 1, 1), float32] */);
  %7 = (%6, %1);
  concatenate(%7, axis=1)
})"},
    {"DepthwiseAndGroups", R"(def @main(%data: Tensor[(1, 32, 10, 10), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 1, 3, 3), float32] */, padding=[1, 1, 1, 1], groups=32);
  %1 = clip(%0, a_min=0f, a_max=6f);
  %2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(48, 8, 1, 1), float32] */, groups=4);
  %3 = mean(%2, axis=[2, 3], keepdims=True);
  %4 = sigmoid(%3);
  %5 = multiply(%2, %4);
  %6 = reshape(%5, newshape=[1, 4, 12, 10, 10]);
  %7 = transpose(%6, axes=[0, 2, 1, 3, 4]);
  %8 = reshape(%7, newshape=[1, 48, 10, 10]);
  nn.conv2d(%8, meta[relay.Constant][2] /* ty=Tensor[(16, 48, 3, 3), float32] */, padding=[1, 1, 1, 1])
})"},
    {"ComparisonsAndChoices",
     R"(def @main(%data: Tensor[(1, 5, 6, 7), float32], %rows: Tensor[(3), int32]) {
  %0 = less(%data, 0f);
  %1 = exp(%data);
  %2 = where(%0, %1, %data);
  %3 = equal(%2, %data);
  %4 = mean(%2, axis=[3], keepdims=True);
  %5 = where(%3, %4, meta[relay.Constant][0] /* ty=Tensor[(5, 1, 1), float32] */);
  %6 = tilewright.gather(%5, %rows, axis=2);
  %7 = nn.relu(%6);
  %8 = cast(%3, dtype="int32");
  (%7, %3, %8)
})"},
    {"TransposedInPhases", R"(def @main(%data: Tensor[(2, 5, 6, 7), float32]) {
  %0 = nn.conv2d_transpose(%data, meta[relay.Constant][0] /* ty=Tensor[(5, 6, 2, 2), float32] */, channels=6, kernel_size=[2, 2], strides=[2, 2]);
  %1 = add(%0, meta[relay.Constant][1] /* ty=Tensor[(6, 1, 1), float32] */);
  %2 = nn.relu(%1);
  %3 = nn.conv2d_transpose(%2, meta[relay.Constant][2] /* ty=Tensor[(6, 1, 2, 2), float32] */, channels=1, kernel_size=[2, 2], strides=[2, 2]);
  sigmoid(%3)
})"},
    {"SlicedBetweenConvolutions", R"(def @main(%data: Tensor[(1, 16, 6, 5), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(52, 16, 1, 1), float32] */);
  %1 = strided_slice(%0, begin=[0, 16, 0, 1], end=[1, 52, 6, 5], strides=[1, 1, 2, 1]);
  %2 = strided_slice(%0, begin=[0, 0, 0, 0], end=[1, 24, 6, 5], strides=[1, 1, 1, 1]);
  %3 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(16, 36, 1, 1), float32] */);
  %4 = nn.conv2d(%2, meta[relay.Constant][2] /* ty=Tensor[(16, 24, 1, 1), float32] */);
  (%3, %4)
})"},
    {"GatheredBetweenConvolutions", R"(def @main(%data: Tensor[(1, 16, 6, 5), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 16, 1, 1), float32] */);
  %1 = tilewright.gather(%0, meta[relay.Constant][1] /* ty=Tensor[(12), int32] */, axis=2);
  %2 = tilewright.gather(%1, meta[relay.Constant][2] /* ty=Tensor[(10), int32] */, axis=3);
  %3 = multiply(%2, meta[relay.Constant][3] /* ty=Tensor[(10), float32] */);
  %4 = tilewright.gather(%0, meta[relay.Constant][4] /* ty=Tensor[(32), int32] */, axis=1);
  %5 = nn.conv2d(%3, meta[relay.Constant][5] /* ty=Tensor[(16, 32, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  (%5, %4)
})"},
    {"BiasOfAnInput",
     R"(def @main(%data: Tensor[(1, 16, 6, 6), float32], %bias: Tensor[(32), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.bias_add(%0, %bias);
  nn.relu(%1)
})"},
    {"OneChannelReadTwice", R"(def @main(%data: Tensor[(1, 3, 6, 6), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(1, 3, 3, 3), float32] */);
  %1 = sigmoid(%0);
  (multiply(%0, %1), multiply(%0, %0))
})"},
    {"OneChannelTwoOutputs", R"(def @main(%data: Tensor[(2, 3, 6, 6), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(1, 3, 3, 3), float32] */);
  %1 = sigmoid(%0);
  %2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(20, 1, 1, 1), float32] */);
  (%0, %1, multiply(%2, %1))
})"},
    {"OneChannelWithOperandsOfInputs",
     R"(def @main(%data: Tensor[(1, 16, 6, 6), float32], %bias: Tensor[(1), float32], %row: Tensor[(1, 1, 1, 6), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(1, 16, 1, 1), float32] */);
  %1 = nn.bias_add(%0, %bias);
  %2 = add(%1, %row);
  %3 = nn.max_pool2d(%2, pool_size=[2, 2], strides=[2, 2]);
  %4 = abs(%3);
  divide(%3, add(%4, 1f))
})"},
    {"OneChannelOfIntegers", R"(def @main(%data: Tensor[(1, 16, 6, 6), int8]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(1, 16, 3, 3), int8] */, padding=[1, 1, 1, 1], out_dtype="int32");
  %1 = right_shift(%0, 6);
  %2 = clip(%1, a_min=-127f, a_max=127f);
  %3 = cast(%2, dtype="int8");
  %4 = maximum(%3, negative(%3));
  (%3, nn.conv2d(%4, meta[relay.Constant][1] /* ty=Tensor[(16, 1, 1, 1), int8] */, out_dtype="int32"))
})"},
    {"OddChannelsOfInputs",
     R"(def @main(%data: Tensor[(1, 16, 6, 6), float32], %scale: Tensor[(20, 1, 1), float32], %gate: Tensor[(1, 1, 6, 6), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(20, 16, 1, 1), float32] */);
  %1 = multiply(%0, %scale);
  %2 = multiply(%1, %gate);
  add(%2, %1)
})"},
    {"OneElement",
     R"(def @main(%data: Tensor[(1, 1, 8, 8), float32], %weight: Tensor[(1, 1, 1, 1), float32]) {
  %0 = nn.conv2d(%data, %weight);
  %1 = nn.global_avg_pool2d(%0);
  %2 = nn.conv2d(%1, %weight);
  %3 = multiply(%2, %2);
  (nn.conv2d(%3, %3), nn.conv2d(%data, %1))
})"},
    // Each function is computed in float32, by a separate expression.
    {"FunctionsOfHalfPrecision", R"(def @main(%data: Tensor[(1, 32), float16]) {
  %0 = sigmoid(%data);
  (tanh(%0), tanh(multiply(%0, %data)), exp(tanh(sigmoid(negative(%data)))))
})"},
    {"HalfPrecision", R"(def @main(%data: Tensor[(1, 3, 16, 16), float16]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 3, 3, 3), float16] */, padding=[1, 1, 1, 1], strides=[2, 2]);
  %1 = nn.batch_norm(%0, meta[relay.Constant][1] /* ty=Tensor[(16), float16] */, meta[relay.Constant][2] /* ty=Tensor[(16), float16] */, meta[relay.Constant][3] /* ty=Tensor[(16), float16] */, meta[relay.Constant][4] /* ty=Tensor[(16), float16] */);
  %2 = nn.relu(%1.0);
  %3 = nn.conv2d(%2, meta[relay.Constant][5] /* ty=Tensor[(16, 1, 3, 3), float16] */, padding=[1, 1, 1, 1], groups=16);
  %4 = clip(%3, a_min=0f, a_max=6f);
  %5 = nn.conv2d(%4, meta[relay.Constant][6] /* ty=Tensor[(32, 16, 1, 1), float16] */, out_dtype="float32");
  %6 = nn.bias_add(%5, meta[relay.Constant][7] /* ty=Tensor[(32), float32] */);
  %7 = cast(%6, dtype="float16");
  %8 = nn.max_pool2d(%7, pool_size=[2, 2], strides=[2, 2]);
  %9 = nn.global_avg_pool2d(%8);
  %10 = nn.batch_flatten(%9);
  %11 = nn.dense(%10, meta[relay.Constant][8] /* ty=Tensor[(16, 32), float16] */);
  nn.softmax(%11)
})"},
    {"Quantized", R"(def @main(%data: Tensor[(1, 32, 8, 8), int8]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 32, 3, 3), int8] */, padding=[1, 1, 1, 1], out_dtype="int32");
  %1 = add(%0, meta[relay.Constant][1] /* ty=Tensor[(32, 1, 1), int32] */);
  %2 = nn.relu(%1);
  %3 = add(%2, 256);
  %4 = right_shift(%3, 9);
  %5 = clip(%4, a_min=-127f, a_max=127f);
  %6 = cast(%5, dtype="int8");
  %7 = nn.conv2d(%6, meta[relay.Constant][2] /* ty=Tensor[(32, 32, 1, 1), int8] */, out_dtype="int32");
  %8 = right_shift(%7, 6);
  %9 = clip(%8, a_min=-127f, a_max=127f);
  %10 = cast(%9, dtype="int8");
  %11 = cast(%10, dtype="int32");
  %12 = cast(%6, dtype="int32");
  %13 = add(%11, %12);
  %14 = clip(%13, a_min=-127f, a_max=127f);
  %15 = cast(%14, dtype="int8");
  nn.max_pool2d(%15, pool_size=[2, 2], strides=[2, 2])
})"},
    {"PackedInTheGraph", R"(def @main(%data: Tensor[(1, 16, 8, 8), int8]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 16, 3, 3), int8] */, padding=[1, 1], out_dtype="int32");
  %1 = reshape(%0, newshape=[1, 1, 2, 16, 8, 8]);
  %2 = transpose(%1, axes=[0, 2, 4, 5, 1, 3]);
  %3 = add(%2, meta[relay.Constant][1] /* ty=Tensor[(2, 1, 1, 1, 16), int32] */);
  %4 = right_shift(%3, 7);
  %5 = clip(%4, a_min=-127f, a_max=127f);
  %6 = cast(%5, dtype="int8");
  %7 = nn.max_pool2d(%6, pool_size=[2, 2], strides=[2, 2]);
  %8 = nn.conv2d(%7, meta[relay.Constant][2] /* ty=Tensor[(1, 2, 1, 1, 16, 16), int8] */, data_layout="NCHW1n16c", kernel_layout="OIHW16o16i", out_dtype="int32");
  %9 = transpose(%8, axes=[0, 4, 1, 5, 2, 3]);
  (reshape(%9, newshape=[1, 16, 4, 4]), %2)
})"},
    {"ChannelsLast", R"(def @main(%data: Tensor[(2, 8, 8, 16), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(3, 3, 16, 32), float32] */, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="HWIO");
  %1 = add(%0, meta[relay.Constant][1] /* ty=Tensor[(32), float32] */);
  %2 = nn.relu(%1);
  %3 = nn.max_pool2d(%2, pool_size=[2, 2], strides=[2, 2], layout="NHWC");
  %4 = tanh(%3);
  %5 = nn.conv2d(%4, meta[relay.Constant][2] /* ty=Tensor[(1, 1, 32, 8), float32] */, data_layout="NHWC", kernel_layout="HWIO");
  mean(%5, axis=[1, 2])
})"},
    {"WeightsAreInputs",
     R"(def @main(%data: Tensor[(1, 16, 8, 8), float32], %weight: Tensor[(16, 16, 3, 3), float32]) {
  %0 = nn.conv2d(%data, %weight, padding=[1, 1, 1, 1]);
  nn.relu(%0)
})"},
    {"OutputsTwiceAndUnchanged", R"(def @main(%x: Tensor[(2, 3), float32]) {
  %0 = tanh(%x);
  %1 = reshape(%0, newshape=[3, 2]);
  (%0, %x, %0, %1, meta[relay.Constant][0] /* ty=Tensor[(3), float32] */)
})"},
    // Too long for local buffers, and larger than a private cache.
    {"LongRows",
     R"(def @main(%data: Tensor[(6, 18385), float32], %row: Tensor[(2, 40000), float32]) {
  %0 = nn.softmax(%data);
  %1 = nn.log_softmax(nn.softmax(%row));
  %2 = mean(%data, axis=[1], keepdims=True);
  (%0, %1, subtract(%data, %2))
})"},
    // The largest float16 is 65504: intermediate values may be larger.
    {"HalfPrecisionChain",
     R"(def @main(%data: Tensor[(4, 32), float16], %scale: Tensor[(32), float16]) {
  %0 = multiply(%data, 4096f16);
  %1 = multiply(%0, 512f16);
  %2 = multiply(%1, %scale);
  %3 = divide(%2, 16384f16);
  %4 = divide(%3, 1024f16);
  %5 = mean(%data, axis=[1], keepdims=True);
  %6 = subtract(%data, %5);
  (%4, multiply(%6, %6))
})"},
    {"PartsOfAnOperand", R"(def @main(%data: Tensor[(1, 32, 16), float32]) {
  %0 = tanh(%data);
  %1 = strided_slice(%0, begin=[0, 0, 0], end=[1, 1, 16], strides=[1, 1, 1]);
  %2 = divide(%0, %1);
  %3 = strided_slice(%2, begin=[0, 0, 0], end=[1, 16, 16], strides=[1, 1, 1]);
  %4 = strided_slice(%2, begin=[0, 16, 0], end=[1, 32, 16], strides=[1, 1, 1]);
  %5 = (%4, %3);
  %6 = concatenate(%5, axis=1);
  add(%2, %6)
})"},
    {"BatchMatmul", R"(def @main(%a: Tensor[(3, 5, 8), float32], %b: Tensor[(3, 6, 8), float32]) {
  %0 = nn.batch_matmul(%a, %b);
  nn.softmax(%0)
})"},
    {"AttentionOfHeads",
     R"(def @main(%q: Tensor[(1, 21, 24), float32], %k: Tensor[(1, 37, 24), float32], %v: Tensor[(1, 37, 24), float32], %mask: Tensor[(1, 1, 37), float32]) {
  %0 = reshape(%q, newshape=[21, 3, 8]);
  %1 = transpose(%0, axes=[1, 0, 2]);
  %2 = reshape(%k, newshape=[37, 3, 8]);
  %3 = transpose(%2, axes=[1, 0, 2]);
  %4 = nn.batch_matmul(%1, %3);
  %5 = multiply(%4, 0.35f);
  %6 = add(%5, %mask);
  %7 = nn.softmax(%6);
  %8 = reshape(%v, newshape=[37, 3, 8]);
  %9 = transpose(%8, axes=[1, 2, 0]);
  %10 = nn.batch_matmul(%7, %9);
  %11 = transpose(%10, axes=[1, 0, 2]);
  reshape(%11, newshape=[1, 21, 24])
})"},
    {"AttentionOfFewRows",
     R"(def @main(%q: Tensor[(2, 3, 8), float32], %k: Tensor[(2, 9, 8), float32], %v: Tensor[(2, 5, 9), float32]) {
  %0 = nn.batch_matmul(%q, %k);
  %1 = nn.softmax(%0);
  nn.batch_matmul(%1, %v)
})"}};

}  // namespace tilewright
