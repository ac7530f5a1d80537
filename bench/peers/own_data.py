"""own_data.py FOLDER: networks of our own in the forms that tests read others' in, and their numbers.

FOLDER is tests/fixtures/data. onnx/own_light.onnx has weights made by ConstantOfShape,
relay/own_packed.relay is quantized and packed for a VTA, relay/own_fixed.relay has fixed-point
requantization. expected/ has what they contain and compute, found without Tilewright: tasks from
shapes, values with weights seeded by name in float64 (ONNX's reference evaluator) or whole numbers
(numpy)."""
import json
import os
import sys
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

folder = sys.argv[1]
for part in ("onnx", "relay", "expected"):
    os.makedirs(os.path.join(folder, part), exist_ok=True)


def path(*parts):
    return os.path.join(folder, *parts)


# ---- Made-up numbers: seeded by a name, as src/tensor/synthetic_data.h describes them.


def integers(name, count):
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 & (2**64 - 1)
    z = (np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(40)).astype(np.float64)


def seeded(name, shape):
    count = int(np.prod(shape))
    u = integers(name, count) / 2**24
    if len(shape) >= 2 and count > 1:
        values = (2 * u - 1) * np.sqrt(6 / np.prod(shape[1:]))
    else:
        values = 0.5 + u
    return values.astype(np.float32).reshape(shape)


def centred(name, shape, limit):
    return (integers(name, int(np.prod(shape))) % (2 * limit + 1) - limit).astype(np.int64).reshape(shape)


def root(count, most):
    return max(1, int(np.sqrt(most // count)))


# ---- A network with weights made by nodes.

nodes, weights, inputs = [], [], ["data"]


def weight(name, *shape):
    if int(np.prod(shape)) > 128:
        weights.append(numpy_helper.from_array(np.array(shape, np.int64), name + "__SHAPE"))
        fill = numpy_helper.from_array(np.array([0.02], np.float32))
        nodes.append(helper.make_node("ConstantOfShape", [name + "__SHAPE"], [name], value=fill))
    else:
        weights.append(numpy_helper.from_array(np.full(shape, 0.5, np.float32), name))
    return name


def node(op, operands, output, **attributes):
    nodes.append(helper.make_node(op, operands, [output], name=output, **attributes))
    return output


def conv(name, data, channels_in, channels, kernel, stride=1, group=1, normalize=False):
    operands = [data, weight(name + "_w", channels, channels_in // group, kernel, kernel)]
    if not normalize:
        operands.append(weight(name + "_b", channels))
    value = node("Conv", operands, name, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                 pads=[kernel // 2] * 4, group=group)
    if not normalize:
        return value
    vectors = [weight(name + part, channels) for part in ("_scale", "_shift", "_mean", "_variance")]
    return node("BatchNormalization", [value] + vectors, name + "_normal", epsilon=1e-5)


x = node("Relu", [conv("stem", "data", 3, 16, 3, stride=2, normalize=True)], "stem_relu")
x = node("MaxPool", [x], "stem_pool", kernel_shape=[2, 2], strides=[2, 2])
y = node("Relu", [conv("deep", x, 16, 16, 3, group=16, normalize=True)], "deep_relu")
x = node("Relu", [node("Sum", [x, conv("point", y, 16, 16, 1, normalize=True)], "sum")], "sum_relu")
left = node("Relu", [conv("left", x, 16, 16, 1)], "left_relu")
right = node("Relu", [conv("right", x, 16, 16, 3, group=2)], "right_relu")
x = node("Concat", [left, right], "both", axis=1)
x = node("GlobalAveragePool", [node("Relu", [conv("last", x, 32, 24, 3)], "last_relu")], "mean")
weights.append(numpy_helper.from_array(np.array([0, -1], np.int64), "flat_shape"))
x = node("Reshape", [x, "flat_shape"], "flat")
x = node("Gemm", [x, weight("dense_w", 10, 24), weight("dense_b", 10)], "dense", transB=1)
node("Softmax", [x], "probabilities", axis=1)
shape = [1, 3, 32, 32]
graph_inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, shape)]
for tensor in weights:
    graph_inputs.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
graph = helper.make_graph(nodes, "own_light", graph_inputs,
                          [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=3)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, path("onnx", "own_light.onnx"))

# In float64, with every value an output.
types = {t.name: list(t.dims) for t in weights if t.data_type == TensorProto.FLOAT}
types.update({n.output[0]: list(numpy_helper.to_array(next(t for t in weights if t.name == n.input[0])))
              for n in nodes if n.op_type == "ConstantOfShape"})
seeds = {name: seeded(name, [int(d) for d in dims]).astype(np.float64) for name, dims in types.items()}
kept = [n for n in nodes if n.op_type != "ConstantOfShape"]
values = [n.output[0] for n in kept]
wide = helper.make_graph(
    kept, "wide", [helper.make_tensor_value_info("data", TensorProto.DOUBLE, shape)],
    [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in values],
    [numpy_helper.from_array(value, name) for name, value in seeds.items()] +
    [t for t in weights if t.name == "flat_shape"])
ramp = (np.arange(np.prod(shape)) / np.prod(shape)).astype(np.float32).astype(np.float64).reshape(shape)
results = dict(zip(values, ReferenceEvaluator(
    helper.make_model(wide, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)).run(None, {"data": ramp})))


def row(name, op, value):
    return [name, op, list(value.shape), float(value.mean()), float(np.sqrt((value**2).mean())), float(value.min()),
            float(value.max()), float(value.flat[0]), float(value.flat[-1])]


rows = [row(n.output[0], n.op_type, results[n.output[0]]) for n in kept if n.op_type in ("Conv", "Gemm")]
rows.append(row("(softmax input)", "Softmax", results["dense"]))


def write(name, content):
    with open(path("expected", name), "w") as out:
        json.dump(content, out, indent=1)
        out.write("\n")


write("seeded_own_light.json", {"input": "data", "values": rows, "logits": [float(v) for v in results["dense"].flat]})


# ---- Tasks of it, from shapes.


def tasks_of(sites):
    tasks = []
    for site, fields in sites:
        same = [t for t in tasks if {k: v for k, v in t.items() if k not in ("id", "sites", "occurrences", "macs_total")} == fields]
        task = same[0] if same else {"id": len(tasks), **fields, "occurrences": 0, "macs_total": 0, "sites": []}
        if not same:
            tasks.append(task)
        task["occurrences"] += 1
        task["macs_total"] += fields["macs"]
        task["sites"].append(site)
    return {"distinct_tasks": len(tasks), "occurrences": len(sites),
            "total_macs": sum(t["macs_total"] for t in tasks), "tasks": tasks}


DENSE = {"op": "dense", "data_dtype": "float32", "weight_dtype": "float32", "data_layout": "MK",
         "kernel_layout": "NK", "output": [1, 10], "out_dtype": "float32"}
sites = []
for n in kept:
    if n.op_type == "Gemm":
        sites.append((n.output[0], {**DENSE, "data": [1, 24], "weight": [10, 24], "macs": 240}))
    if n.op_type != "Conv":
        continue
    data = list(results[n.input[0]].shape) if n.input[0] in results else shape
    output, kernel = list(results[n.output[0]].shape), list(seeds[n.input[1]].shape)
    attributes = {a.name: a.i if a.name == "group" else list(a.ints) for a in n.attribute}
    group = attributes["group"]
    op = "conv2d" if group == 1 else "depthwise_conv2d" if group == data[1] else "group_conv2d"
    sites.append((n.output[0], {
        "op": op, "data": data, "data_dtype": "float32", "weight": kernel, "weight_dtype": "float32",
        "strides": attributes["strides"], "padding": attributes["pads"], "dilation": [1, 1], "groups": group,
        "data_layout": "NCHW", "kernel_layout": "OIHW", "output": output, "out_dtype": "float32", "channels_in": data[1], "channels_out": kernel[0], "kernel": kernel[2:],
        "macs": int(np.prod(output) * np.prod(kernel[1:]))}))
write("tasks_own_light.json", tasks_of(sites))


# ---- Quantized texts, in whole numbers.


def convolve(data, kernel, stride=1, pad=0):
    data = np.pad(data, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    k, r = kernel.shape[0], kernel.shape[2]
    size = (data.shape[2] - r) // stride + 1
    out = np.zeros((data.shape[0], k, size, size), np.int64)
    for y in range(r):
        for x in range(r):
            part = data[:, :, y:y + stride * (size - 1) + 1:stride, x:x + stride * (size - 1) + 1:stride]
            out += np.einsum("nchw,kc->nkhw", part, kernel[:, :, y, x])
    return out


def exact(name, op, value, dtype):
    value = value.astype(dtype)
    return [name, op, list(value.shape), str(value.dtype), int(value.sum(dtype=np.int64)),
            int((value.astype(np.int64)**2).sum()), int(value.min()), int(value.max()),
            "%08x" % zlib.crc32(value.tobytes())]


def packed(value):  # NCHW1n16c
    n, c, h, w = value.shape
    return value.reshape(n, c // 16, 16, h, w).transpose(0, 1, 3, 4, 2).reshape(n, c // 16, h, w, 1, 16)


def constant(i):
    return "relay.Constant.%d" % i


def packed_weight(i, out_blocks, in_blocks, kernel):
    dims = (out_blocks, in_blocks, kernel, kernel, 16, 16)  # the last: of the input
    limit = root(int(np.prod(dims[1:5])), 65536)  # products of one result
    value = centred(constant(i), dims, limit)
    return value.transpose(0, 4, 1, 5, 2, 3).reshape(out_blocks * 16, in_blocks * 16, kernel, kernel)


PACKED = '''def @main(%data: Tensor[(1, 32, 8, 8), float32]) -> Tensor[(1, 10), float32] {
  %0 = multiply(%data, 16f /* ty=float32 */) /* ty=Tensor[(1, 32, 8, 8), float32] */;
  %1 = round(%0) /* ty=Tensor[(1, 32, 8, 8), float32] */;
  %2 = clip(%1, a_min=-127f, a_max=127f) /* ty=Tensor[(1, 32, 8, 8), float32] */;
  %3 = cast(%2, dtype="int8") /* ty=Tensor[(1, 32, 8, 8), int8] */;
  %4 = reshape(%3, newshape=[1, 1, 2, 16, 8, 8]) /* ty=Tensor[(1, 1, 2, 16, 8, 8), int8] */;
  %5 = transpose(%4, axes=[0, 2, 4, 5, 1, 3]) /* ty=Tensor[(1, 2, 8, 8, 1, 16), int8] */;
  %6 = nn.conv2d(%5, meta[relay.Constant][0] /* ty=Tensor[(3, 2, 3, 3, 16, 16), int8] */, padding=[1, 1, 1, 1], channels=48, kernel_size=[3, 3], data_layout="NCHW1n16c", kernel_layout="OIHW16o16i", out_dtype="int32") /* ty=Tensor[(1, 3, 8, 8, 1, 16), int32] */;
  %7 = add(%6, meta[relay.Constant][1] /* ty=Tensor[(3, 1, 1, 1, 16), int32] */) /* ty=Tensor[(1, 3, 8, 8, 1, 16), int32] */;
  %8 = nn.relu(%7) /* ty=Tensor[(1, 3, 8, 8, 1, 16), int32] */;
  %9 = add(%8, 64 /* ty=int32 */) /* ty=Tensor[(1, 3, 8, 8, 1, 16), int32] */;
  %10 = right_shift(%9, 7 /* ty=int32 */) /* ty=Tensor[(1, 3, 8, 8, 1, 16), int32] */;
  %11 = clip(%10, a_min=-127f, a_max=127f) /* ty=Tensor[(1, 3, 8, 8, 1, 16), int32] */;
  %12 = cast(%11, dtype="int8") /* ty=Tensor[(1, 3, 8, 8, 1, 16), int8] */;
  %13 = nn.conv2d(%12, meta[relay.Constant][2] /* ty=Tensor[(3, 3, 1, 1, 16, 16), int8] */, strides=[2, 2], padding=[0, 0, 0, 0], channels=48, kernel_size=[1, 1], data_layout="NCHW1n16c", kernel_layout="OIHW16o16i", out_dtype="int32") /* ty=Tensor[(1, 3, 4, 4, 1, 16), int32] */;
  %14 = add(%13, 128 /* ty=int32 */) /* ty=Tensor[(1, 3, 4, 4, 1, 16), int32] */;
  %15 = right_shift(%14, 8 /* ty=int32 */) /* ty=Tensor[(1, 3, 4, 4, 1, 16), int32] */;
  %16 = clip(%15, a_min=-127f, a_max=127f) /* ty=Tensor[(1, 3, 4, 4, 1, 16), int32] */;
  %17 = cast(%16, dtype="int8") /* ty=Tensor[(1, 3, 4, 4, 1, 16), int8] */;
  %18 = transpose(%17, axes=[0, 4, 1, 5, 2, 3]) /* ty=Tensor[(1, 1, 3, 16, 4, 4), int8] */;
  %19 = reshape(%18, newshape=[1, 48, 4, 4]) /* ty=Tensor[(1, 48, 4, 4), int8] */;
  %20 = cast(%19, dtype="float32") /* ty=Tensor[(1, 48, 4, 4), float32] */;
  %21 = multiply(%20, 0.0625f /* ty=float32 */) /* ty=Tensor[(1, 48, 4, 4), float32] */;
  %22 = nn.global_avg_pool2d(%21) /* ty=Tensor[(1, 48, 1, 1), float32] */;
  %23 = nn.batch_flatten(%22) /* ty=Tensor[(1, 48), float32] */;
  %24 = nn.dense(%23, meta[relay.Constant][3] /* ty=Tensor[(10, 48), float32] */, units=10) /* ty=Tensor[(1, 10), float32] */;
  nn.bias_add(%24, meta[relay.Constant][4] /* ty=Tensor[(10), float32] */, axis=-1) /* ty=Tensor[(1, 10), float32] */
}
'''


def write_text(name, text):
    with open(path("relay", name), "w") as out:
        out.write(text)


def requantize(value, shift):
    return np.clip((value + (1 << (shift - 1))) >> shift, -127, 127)


write_text("own_packed.relay", PACKED)
data = centred("data", (1, 32, 8, 8), 127)
first = convolve(data, packed_weight(0, 3, 2, 3), pad=1)
biased = packed(first) + centred(constant(1), (3, 1, 1, 1, 16), 1000)
middle = requantize(np.maximum(biased, 0), 7)
plain = middle.transpose(0, 4, 1, 5, 2, 3).reshape(1, 48, 8, 8)
second = convolve(plain, packed_weight(2, 3, 3, 1), stride=2)
last = requantize(second, 8)
mean = (last * 0.0625).mean(axis=(2, 3))
logits = mean @ seeded(constant(3), (10, 48)).astype(np.float64).T + seeded(constant(4), (10,)).astype(np.float64)
write("seeded_own_packed.json", {
    "values": [exact("%6", "nn.conv2d", packed(first), np.int32), exact("%12", "cast", middle, np.int8),
               exact("%13", "nn.conv2d", packed(second), np.int32), exact("%17", "cast", packed(last), np.int8)],
    "output": [float(v) for v in logits.flat]})


def packed_site(site, data, kernel, stride, pad, output):
    return (site, {"op": "conv2d", "data": data, "data_dtype": "int8", "weight": kernel, "weight_dtype": "int8",
                   "strides": [stride] * 2, "padding": [pad] * 4, "dilation": [1, 1], "groups": 1,
                   "data_layout": "NCHW1n16c", "kernel_layout": "OIHW16o16i", "output": output, "out_dtype": "int32", "kernel": kernel[2:4],
                   "macs": int(np.prod(output) * kernel[1] * 16 * kernel[2] * kernel[3])})


write("tasks_own_packed.json", tasks_of([
    packed_site("%6", [1, 2, 8, 8, 1, 16], [3, 2, 3, 3, 16, 16], 1, 1, [1, 3, 8, 8, 1, 16]),
    packed_site("%13", [1, 3, 8, 8, 1, 16], [3, 3, 1, 1, 16, 16], 2, 0, [1, 3, 4, 4, 1, 16]),
    ("%24", {**DENSE, "data": [1, 48], "weight": [10, 48], "macs": 480})]))

# A beginning of a network, as a page shows it: functions of fused operators, fixed-point requantization.
FIXED = '''def @main(%input: Tensor[(1, 3, 8, 8), float32], hash="a1") -> Tensor[(1, 2, 4, 4, 8), uint8] {
  %10 = fn (%p01: Tensor[(1, 3, 8, 8), float32], %p11: int16, Primitive=1, hash="a2", src_layout="NCHW", dst_layout="NCHW3c") -> Tensor[(1, 1, 10, 10, 3), int16] {
    %1 = divide(%p01, 0.05f /* ty=float32 */) /* ty=Tensor[(1, 3, 8, 8), float32] */;
    %2 = add(%1, 57f /* ty=float32 */) /* ty=Tensor[(1, 3, 8, 8), float32] */;
    %3 = round(%2) /* ty=Tensor[(1, 3, 8, 8), float32] */;
    %4 = cast(%3, dtype="int32") /* ty=Tensor[(1, 3, 8, 8), int32] */;
    %5 = clip(%4, a_min=0f, a_max=255f) /* ty=Tensor[(1, 3, 8, 8), int32] */;
    %6 = cast(%5, dtype="uint8") /* ty=Tensor[(1, 3, 8, 8), uint8] */;
    %7 = nn.pad(%6, 57f /* ty=float32 */, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]) /* ty=Tensor[(1, 3, 10, 10), uint8] */;
    %8 = cast(%7, dtype="int16") /* ty=Tensor[(1, 3, 10, 10), int16] */;
    %9 = subtract(%8, %p11) /* ty=Tensor[(1, 3, 10, 10), int16] */;
    layout_transform(%9, src_layout="NCHW", dst_layout="NCHW3c") /* ty=Tensor[(1, 1, 10, 10, 3), int16] */
  };
  %11 = %10(%input, meta[relay.Constant][0] /* ty=int16 */) /* ty=Tensor[(1, 1, 10, 10, 3), int16] */;
'''
FIXED += '''  %20 = fn (%p02: Tensor[(1, 1, 10, 10, 3), int16], %p12: Tensor[(2, 1, 3, 3, 3, 8), int16], %p21: Tensor[(1, 2, 1, 1, 8), int32], %p31: Tensor[(1, 2, 1, 1, 8), int64], %p41: Tensor[(1, 2, 1, 1, 8), int64], %p51: Tensor[(1, 2, 1, 1, 8), int64], kernel_layout="OIHW3i8o", Primitive=1, out_layout="NCHW8c", hash="a3", data_layout="NCHW3c") -> Tensor[(1, 2, 4, 4, 8), uint8] {
    %12 = nn.contrib_conv2d_NCHWc(%p02, %p12, strides=[2, 2], padding=[0, 0, 0, 0], channels=16, kernel_size=[3, 3], data_layout="NCHW3c", kernel_layout="OIHW3i8o", out_layout="NCHW8c", out_dtype="int32") /* ty=Tensor[(1, 2, 4, 4, 8), int32] */;
    %13 = add(%12, %p21) /* ty=Tensor[(1, 2, 4, 4, 8), int32] */;
    %14 = cast(%13, dtype="int64") /* ty=Tensor[(1, 2, 4, 4, 8), int64] */;
    %15 = multiply(%14, %p31) /* ty=Tensor[(1, 2, 4, 4, 8), int64] */;
    %16 = add(%15, %p41) /* ty=Tensor[(1, 2, 4, 4, 8), int64] */;
    %17 = right_shift(%16, %p51) /* ty=Tensor[(1, 2, 4, 4, 8), int64] */;
    %18 = cast(%17, dtype="int32") /* ty=Tensor[(1, 2, 4, 4, 8), int32] */;
    %19 = clip(%18, a_min=0f, a_max=255f) /* ty=Tensor[(1, 2, 4, 4, 8), int32] */;
    cast(%19, dtype="uint8") /* ty=Tensor[(1, 2, 4, 4, 8), uint8] */
  };
  %21 = %20(%11, meta[relay.Constant][1] /* ty=Tensor[(2, 1, 3, 3, 3, 8), int16] */, meta[relay.Constant][2] /* ty=Tensor[(1, 2, 1, 1, 8), int32] */, meta[relay.Constant][3] /* ty=Tensor[(1, 2, 1, 1, 8), int64] */, meta[relay.Constant][4] /* ty=Tensor[(1, 2, 1, 1, 8), int64] */, meta[relay.Constant][5] /* ty=Tensor[(1, 2, 1, 1, 8), int64] */) /* ty=Tensor[(1, 2, 4, 4, 8), uint8] */;
'''
write_text("own_fixed.relay", FIXED)
quantized = (integers("input", 3 * 64) % 256).astype(np.int64).reshape(1, 3, 8, 8) - 57
framed = np.pad(quantized, ((0, 0), (0, 0), (1, 1), (1, 1)))
kernel = centred(constant(1), (2, 1, 3, 3, 3, 8), min(127, root(27, 2**20)))
kernel = kernel.transpose(0, 5, 1, 4, 2, 3).reshape(16, 3, 3, 3)
sums = convolve(framed, kernel, stride=2)
blocked = sums.reshape(1, 2, 8, 4, 4).transpose(0, 1, 3, 4, 2)
bias = centred(constant(2), (1, 2, 1, 1, 8), 1000)
factor = (2**30 + 64 * integers(constant(3), 16)).astype(np.int64).reshape(1, 2, 1, 1, 8)
scaled = ((blocked + bias) * factor + 2**38) >> 39
write("seeded_own_fixed.json", {"values": [
    exact("%11", "call", framed.transpose(0, 2, 3, 1).reshape(1, 1, 10, 10, 3), np.int16),
    exact("%12", "nn.contrib_conv2d_NCHWc", blocked, np.int32),
    exact("%21", "call", np.clip(scaled, 0, 255), np.uint8)]})
write("tasks_own_fixed.json", tasks_of([("%12", {
    "op": "conv2d", "data": [1, 1, 10, 10, 3], "data_dtype": "int16", "weight": [2, 1, 3, 3, 3, 8],
    "weight_dtype": "int16", "strides": [2, 2], "padding": [0, 0, 0, 0], "dilation": [1, 1], "groups": 1,
    "data_layout": "NCHW3c", "kernel_layout": "OIHW3i8o", "output": [1, 2, 4, 4, 8], "out_dtype": "int32", "channels_in": 3, "channels_out": 16, "kernel": [3, 3],
    "macs": 16 * 16 * 27})]))


# ---- Convolutions of the built-in models, from the tables of their papers.


def table(name, convolutions):
    counts = {}
    for c, h, k, kernel, stride, group in convolutions:
        key = (1, c, h, h, k, kernel, kernel, stride, kernel // 2, 1, group)
        counts[key] = counts.get(key, 0) + 1
    with open(path("expected", "convolutions_%s.csv" % name), "w") as out:
        out.write("name,n,c,h,w,k,r,s,stride,pad,dil,groups,count\n")
        for key, count in counts.items():
            out.write("conv," + ",".join(map(str, key)) + ",%d\n" % count)


def resnet(blocks, bottleneck):
    convolutions, c, h = [(3, 224, 64, 7, 2, 1)], 64, 56
    for stage, count in enumerate(blocks):
        width = 64 << stage
        out = width * (4 if bottleneck else 1)
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            small = h // stride
            if bottleneck:
                convolutions += [(c, h, width, 1, stride, 1), (width, small, width, 3, 1, 1), (width, small, out, 1, 1, 1)]
            else:
                convolutions += [(c, h, width, 3, stride, 1), (width, small, width, 3, 1, 1)]
            if stride > 1 or c != out:
                convolutions.append((c, h, out, 1, stride, 1))
            c, h = out, small
    return convolutions


def mobilenet():
    convolutions, c, h = [(3, 224, 32, 3, 2, 1)], 32, 112
    for factor, out, count, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                      (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(count):
            stride, wide = first if block == 0 else 1, c * factor
            if factor > 1:
                convolutions.append((c, h, wide, 1, 1, 1))
            convolutions.append((wide, h, wide, 3, stride, wide))
            h //= stride
            convolutions.append((wide, h, out, 1, 1, 1))
            c = out
    return convolutions + [(c, h, 1280, 1, 1, 1)]


table("resnet18_v1", resnet([2, 2, 2, 2], False))
table("resnet50_v1", resnet([3, 4, 6, 3], True))
table("mobilenet_v2", mobilenet())
