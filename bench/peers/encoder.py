"""encoder.py LAYERS WIDTH HEADS PLACES FORM FILE: an encoder of a transformer, with random weights.

LAYERS layers of WIDTH, HEADS heads, PLACES positions: a number, or seq:512 for an open length `seq`, at most 512. FORM `decomposed`: the operators that PyTorch's
exporter writes (layer normalization and GELU by parts, attention by transposes and products);
`pooled`: the same, of an integer mask that Where turns into scores, with a second result, a dense layer of the first position;
`causal`: as `decomposed`, and each position looks at those before it alone, by Trilu of a constant;
`fused`: those of domain com.microsoft that ONNX Runtime's optimizers leave behind. Inputs are numbers of
words [1,PLACES] int64 and a mask [1,PLACES] float (1: looked at), the result is [1,PLACES,WIDTH]."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

layers, width, heads = (int(a) for a in sys.argv[1:4])
form, path = sys.argv[5:7]
open_name, _, most = sys.argv[4].rpartition(":")
places = int(most)
fused = form == "fused"
pooled, causal = form == "pooled", form == "causal"
each = width // heads
words = 1000
random = np.random.default_rng(16)
nodes, weights = [], []


def constant(name, value, dtype=np.float32):
    weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
    return name


def weight(name, *shape):
    fan = shape[0] if len(shape) > 1 else 2500
    return constant(name, random.standard_normal(shape) / np.sqrt(fan))


def node(op, inputs, output, domain="", **attributes):
    nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))
    return output


def scale_and_shift(name):
    return [constant(name + "_scale", 1 + 0.1 * random.standard_normal(width)), weight(name + "_shift", width)]


def normalized(name, x):
    gamma, beta = scale_and_shift(name)
    mean = node("ReduceMean", [x], name + "_mean", axes=[-1])
    centred = node("Sub", [x, mean], name + "_centred")
    square = node("Pow", [centred, "two"], name + "_square")
    variance = node("ReduceMean", [square], name + "_variance", axes=[-1])
    root = node("Sqrt", [node("Add", [variance, "epsilon"], name + "_safe")], name + "_root")
    scaled = node("Mul", [node("Div", [centred, root], name + "_unit"), gamma], name + "_scaled")
    return node("Add", [scaled, beta], name)


def projected(name, x, size, inputs=width):
    product = node("MatMul", [x, weight(name + "_weight", inputs, size)], name + "_product")
    return node("Add", [weight(name + "_bias", size), product], name)


def split_in_heads(name, x, order):
    parts = node("Reshape", [x, "in_heads"], name + "_heads")
    return node("Transpose", [parts], name + "_turned", perm=order)


def decomposed_layer(name, x):
    query = split_in_heads(name + "_q", projected(name + "_query", x, width), [0, 2, 1, 3])
    key = split_in_heads(name + "_k", projected(name + "_key", x, width), [0, 2, 3, 1])
    value = split_in_heads(name + "_v", projected(name + "_value", x, width), [0, 2, 1, 3])
    scores = node("Div", [node("MatMul", [query, key], name + "_scores"), "root_of_head"], name + "_scaled")
    scores = node("Add", [scores, "bias"], name + "_masked")
    if causal:
        scores = node("Add", [scores, "later"], name + "_causal")
    chances = node("Softmax", [scores], name + "_chances", axis=-1)
    seen = node("Transpose", [node("MatMul", [chances, value], name + "_seen")], name + "_back", perm=[0, 2, 1, 3])
    joined = node("Reshape", [seen, "in_one"], name + "_joined")
    x = normalized(name + "_norm1", node("Add", [projected(name + "_out", joined, width), x], name + "_sum1"))
    wide = projected(name + "_wide", x, 4 * width)
    erf = node("Erf", [node("Div", [wide, "root_of_two"], name + "_by_root")], name + "_erf")
    gelu = node("Mul", [wide, node("Add", [erf, "one"], name + "_erf1")], name + "_twice")
    gelu = node("Mul", [gelu, "half"], name + "_gelu")
    narrow = projected(name + "_narrow", gelu, width, 4 * width)
    return normalized(name + "_norm2", node("Add", [narrow, x], name + "_sum2"))


def fused_layer(name, x):
    ms = "com.microsoft"
    qkv = [weight(name + "_qkv_weight", width, 3 * width), weight(name + "_qkv_bias", 3 * width)]
    seen = node("Attention", [x, *qkv, "mask_index"], name + "_seen", ms, num_heads=heads)
    out = node("MatMul", [seen, weight(name + "_out_weight", width, width)], name + "_out")
    x = node("SkipLayerNormalization", [out, x, *scale_and_shift(name + "_norm1"), weight(name + "_out_bias", width)],
             name + "_norm1", ms, epsilon=1e-12)
    wide = node("MatMul", [x, weight(name + "_wide_weight", width, 4 * width)], name + "_wide")
    gelu = node("BiasGelu", [wide, weight(name + "_wide_bias", 4 * width)], name + "_gelu", ms)
    narrow = node("MatMul", [gelu, weight(name + "_narrow_weight", 4 * width, width)], name + "_narrow")
    return node("SkipLayerNormalization",
                [narrow, x, *scale_and_shift(name + "_norm2"), weight(name + "_narrow_bias", width)],
                name + "_norm2", ms, epsilon=1e-12)


for name, value in [("two", 2), ("one", 1), ("half", 0.5), ("epsilon", 1e-12), ("root_of_two", np.sqrt(2)),
                    ("root_of_head", np.sqrt(each)), ("lowest", -10000)]:
    constant(name, value)
constant("in_heads", [1, 0 if open_name else places, heads, each], np.int64)
constant("in_one", [1, 0 if open_name else places, width], np.int64)
constant("mask_axes", [1, 2], np.int64)
table, place = weight("words", words, width), weight("places", 1, places, width)
if fused:
    node("Cast", ["mask"], "mask_index", to=TensorProto.INT32)
elif pooled:
    unseen = node("Equal", [node("Unsqueeze", ["mask", "mask_axes"], "mask4"), constant("zero", 0, np.int64)], "unseen")
    node("Where", [unseen, "lowest", constant("nothing", 0)], "bias")
else:
    kept = node("Unsqueeze", ["mask", "mask_axes"], "mask4")
    node("Mul", [node("Sub", ["one", kept], "unseen"), "lowest"], "bias")
if open_name:
    for name, value in [("first", [0]), ("axis1", [1])]:
        constant(name, value, np.int64)
    length = node("Slice", [node("Shape", ["ids"], "ids_shape"), "axis1", constant("axis2", [2], np.int64)], "length")
    place = node("Slice", [place, "first", length, "axis1"], "place")
if causal:
    size = [length, length] if open_name else [constant("length", [places], np.int64)] * 2
    square = node("Concat", size, "square", axis=0)
    filled = node("ConstantOfShape", [square], "filled", value=numpy_helper.from_array(np.array([-1e4], np.float32)))
    node("Trilu", [filled, constant("above", 1, np.int64)], "later", upper=1)
x = node("Add", [node("Gather", [table, "ids"], "embedded"), place], "embedding")
if fused:
    x = node("LayerNormalization", [x, *scale_and_shift("norm0")], "norm0", axis=-1, epsilon=1e-12)
else:
    x = normalized("norm0", x)
for i in range(layers):
    x = (fused_layer if fused else decomposed_layer)(f"layer{i}", x)
node("Identity", [x], "output")
outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, open_name or places, width])]
if pooled:
    first_state = node("Gather", [x, constant("position", 0, np.int64)], "first_state", axis=1)
    node("Tanh", [projected("pooler", first_state, width)], "pooled")
    outputs.append(helper.make_tensor_value_info("pooled", TensorProto.FLOAT, [1, width]))

used = {name for n in nodes for name in n.input}
graph = helper.make_graph(
    nodes, f"encoder{layers}x{width}",
    [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, open_name or places]),
     helper.make_tensor_value_info("mask", TensorProto.INT64 if pooled else TensorProto.FLOAT, [1, open_name or places])],
    outputs,
    [w for w in weights if w.name in used])
sets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid("com.microsoft", 1)] if fused else [])
model = helper.make_model(graph, opset_imports=sets, ir_version=8)
if not fused:
    onnx.checker.check_model(model, full_check=True)
onnx.save(model, path)
