"""Random ONNX graphs that are valid by construction: what random_graphs.py compares.

A Maker holds a pool of values with known shapes and types. Each step picks a maker of one operator
from a table, which looks for operands in the pool and adds nodes. What a graph does not read again
is an output of it. The same seed gives the same graph."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, I64, I32, I8, U8, BOOL = np.float32, np.int64, np.int32, np.int8, np.uint8, np.bool_
OF = {np.dtype(t): p for t, p in (
    (F32, TensorProto.FLOAT), (np.float64, TensorProto.DOUBLE), (np.float16, TensorProto.FLOAT16),
    (I64, TensorProto.INT64), (I32, TensorProto.INT32), (np.int16, TensorProto.INT16), (I8, TensorProto.INT8),
    (U8, TensorProto.UINT8), (np.uint16, TensorProto.UINT16), (np.uint32, TensorProto.UINT32),
    (np.uint64, TensorProto.UINT64), (BOOL, TensorProto.BOOL))}


RUNTIME = "com.microsoft"  # ONNX Runtime's own domain


class Impossible(Exception):
    """The operator finds nothing in the pool that it could take."""


class Value:
    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype = name, tuple(int(d) for d in shape), np.dtype(dtype)

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))


class Maker:
    def __init__(self, seed, opset, for_quantization=False):
        self.rng = np.random.default_rng(seed)
        self.opset, self.nodes, self.inits, self.inputs, self.pool = opset, [], [], [], []
        self.read, self.count, self.for_quantization = set(), 0, for_quantization

    # Random choices.
    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def between(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def channels(self):
        return self.pick(1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 32, 33, 40, self.between(1, 40))

    # Values.
    def name(self, kind="v"):
        self.count += 1
        return f"{kind}{self.count}"

    def input(self, shape, dtype=F32):
        value = Value(self.name("x"), shape, dtype)
        self.inputs.append(value)
        self.pool.append(value)
        return value

    def constant(self, array):
        name = self.name("c")
        array = np.asarray(array)
        self.inits.append(numpy_helper.from_array(array, name))
        return Value(name, array.shape, array.dtype)

    def weights(self, shape, fan=None):
        fan = fan or max(1, int(np.prod(shape[1:], dtype=np.int64)))
        return self.constant((self.rng.standard_normal(shape) / np.sqrt(fan)).astype(F32))

    def ints(self, *numbers):
        return self.constant(np.array(numbers, I64))

    def operand(self, value):
        """A tensor that broadcasts against `value`: a constant, or another value of the pool."""
        if self.chance(0.45):
            fits = [v for v in self.pool if v.dtype == value.dtype and broadcasts(v.shape, value.shape)]
            if fits:
                return fits[int(self.rng.integers(len(fits)))]
        shape = [d if self.chance(0.6) else 1 for d in value.shape]
        for _ in range(self.between(0, len(shape)) if self.chance(0.5) else 0):
            shape = shape[1:]
        array = self.rng.standard_normal(shape) if value.dtype == F32 else self.rng.integers(-9, 9, shape)
        return self.constant(np.asarray(array).astype(value.dtype))

    def find(self, test, dtype=F32):
        fits = [v for v in self.pool if (dtype is None or v.dtype == dtype) and test(v)]
        if not fits:
            raise Impossible
        recent = fits[-3:]
        return recent[int(self.rng.integers(len(recent)))] if self.chance(0.7) else fits[int(self.rng.integers(len(fits)))]

    def add(self, op, operands, shape, dtype=F32, domain="", keep=True, outputs=1, **attributes):
        """Appends a node. `shape`: of its first output; of all, if `outputs` is more than 1."""
        if sum(int(np.prod(s, dtype=np.int64)) for s in ([shape] if outputs == 1 else shape)) > 40000:
            raise Impossible
        names = [v if isinstance(v, str) else v.name for v in operands]
        shapes = [shape] if outputs == 1 else shape
        results = [Value(self.name(), s, dtype) for s in shapes]
        self.nodes.append(helper.make_node(op, names, [r.name for r in results], name=self.name("n"),
                                           domain=domain, **attributes))
        self.read.update(names)
        if keep:
            self.pool.extend(results)
        return results[0] if outputs == 1 else results

    def model(self):
        made = [v for v in self.pool if not v.name.startswith("x")]
        outputs = [v for v in made if v.name not in self.read]
        inner = [v for v in made if v.name in self.read]
        if inner and self.chance(0.3):
            outputs.append(inner[int(self.rng.integers(len(inner)))])
        info = lambda v: helper.make_tensor_value_info(v.name, OF[v.dtype], v.shape)
        graph = helper.make_graph(self.nodes, "g", [info(v) for v in self.inputs], [info(v) for v in outputs], self.inits)
        sets = [helper.make_opsetid("", self.opset)]
        if any(n.domain for n in self.nodes):
            sets.append(helper.make_opsetid(RUNTIME, 1))
        return helper.make_model(graph, opset_imports=sets,
                                 ir_version=min(10, 3 if self.opset < 7 else 8 if self.opset < 21 else 10))


def broadcasts(a, b):
    return all(x == y or x == 1 or y == 1 for x, y in zip(a[::-1], b[::-1]))


def joined(*shapes):
    return tuple(int(d) for d in np.broadcast_shapes(*shapes))


MAKERS = []  # (weight, smallest set, fit for quantization, function)


def maker(weight=1.0, since=1, quantized=False):
    def register(function):
        MAKERS.append((weight, since, quantized, function))
        return function
    return register


# ---- Elementwise.
UNARY = {"Relu": 1, "Sigmoid": 1, "Tanh": 1, "Abs": 1, "Neg": 1, "Erf": 9, "Softplus": 1, "Softsign": 1, "Elu": 1, "Selu": 1,
         "LeakyRelu": 1, "HardSigmoid": 1, "HardSwish": 14, "Mish": 18, "Gelu": 20, "ThresholdedRelu": 10, "Ceil": 1, "Floor": 1,
         "Round": 11, "Sign": 9, "Sin": 7, "Cos": 7, "Identity": 1, "Dropout": 7, "Celu": 12, "Exp": 1}


@maker(4)
def unary(m):
    op = m.pick(*[o for o, s in UNARY.items() if s <= m.opset])
    x = m.find(lambda v: True)
    attributes = {}
    if op in ("Elu", "LeakyRelu", "ThresholdedRelu", "Celu") and m.chance(0.6):
        attributes["alpha"] = float(m.rng.uniform(0.05, 1.5))
    if op == "HardSigmoid" and m.chance(0.5):
        attributes = dict(alpha=0.3, beta=0.4)
    if op == "Gelu":
        attributes["approximate"] = m.pick("none", "tanh")
    if op == "Exp":
        x = m.add("Tanh", [x], x.shape)
    return m.add(op, [x], x.shape, **attributes)


@maker(1.5)
def guarded(m):
    """Functions that want arguments of one side."""
    x = m.find(lambda v: True)
    a = m.add("Abs", [x], x.shape, keep=False)
    op = m.pick("Sqrt", "Log", "Reciprocal", "Pow")
    if op == "Sqrt":
        return m.add(op, [a], x.shape)
    a = m.add("Add", [a, m.constant(np.array(0.5, F32))], x.shape, keep=False)
    if op == "Pow":
        return m.add(op, [a, m.constant(np.array(m.pick(0.5, 2.0, 3.0, -1.0, 1.7), F32))], x.shape)
    return m.add(op, [a], x.shape)


@maker(5)
def binary(m):
    op = m.pick("Add", "Sub", "Mul", "Add", "Mul", "Max", "Min", "Sum", "Mean", "Div")
    x = m.find(lambda v: True)
    y = x if m.chance(0.1) else m.operand(x)
    if op == "Div":
        y = m.add("Abs", [y], y.shape, keep=False)
        y = m.add("Add", [y, m.constant(np.array([1.0], F32))], joined(y.shape, (1,)), keep=False)
    operands = [x, y]
    if m.chance(0.3) and op not in ("Sub", "Div"):
        operands.reverse()
    if op in ("Max", "Min", "Sum", "Mean") and (m.opset < 8):
        if x.shape != y.shape:
            raise Impossible
    return m.add(op, operands, joined(x.shape, y.shape))


@maker(2, quantized=True)
def sum_or_product(m):
    x = m.find(lambda v: True)
    others = [v for v in m.pool if v.dtype == F32 and broadcasts(v.shape, x.shape) and v is not x]
    y = others[int(m.rng.integers(len(others)))] if others and m.chance(0.8) else m.operand(x)
    return m.add(m.pick("Add", "Mul", "Add"), [x, y], joined(x.shape, y.shape))


@maker(1.5, quantized=True)
def activation(m):
    x = m.find(lambda v: True)
    op = m.pick("Relu", "Sigmoid", "LeakyRelu", "Relu")
    return m.add(op, [x], x.shape)


@maker(1, quantized=True)
def gate(m):
    """The diamond of SiLU and its kin."""
    x = m.find(lambda v: True)
    g = m.add(m.pick("Sigmoid", "Tanh", "HardSigmoid") if not m.for_quantization else "Sigmoid", [x], x.shape, keep=False)
    return m.add("Mul", [x, g] if m.chance(0.5) else [g, x], x.shape)


@maker(1, since=11, quantized=True)
def clip(m):
    x = m.find(lambda v: True)
    low, high = sorted(m.rng.uniform(-2, 2, 2))
    names = [x, m.constant(np.array(low, F32)) if m.chance(0.8) else "", m.constant(np.array(high, F32))]
    return m.add("Clip", names, x.shape)


@maker(1, since=7)
def prelu(m):
    x = m.find(lambda v: v.rank >= 2)
    shape = m.pick((x.shape[1],) + (1,) * (x.rank - 2), (1,), (1,) * (x.rank - 1), x.shape[1:])
    return m.add("PRelu", [x, m.constant(m.rng.uniform(-0.5, 0.9, shape).astype(F32))], x.shape)


@maker(1.5, since=9)
def choice(m):
    x = m.find(lambda v: True)
    y = m.operand(x)
    op = m.pick("Greater", "Less", *(["GreaterOrEqual", "LessOrEqual"] if m.opset >= 12 else []))
    shape = joined(x.shape, y.shape)
    c = m.add(op, [x, y], shape, BOOL, keep=m.chance(0.1))
    if m.chance(0.3):
        c = m.add("Not", [c], shape, BOOL, keep=False)
    if m.chance(0.3):
        d = m.add(m.pick("Less", "Greater"), [x, m.constant(np.array(0.1, F32))], x.shape, BOOL, keep=False)
        c = m.add(m.pick("And", "Or", "Xor"), [c, d], joined(shape, x.shape), BOOL, keep=False)
    z = m.operand(x)
    return m.add("Where", [c, x, z], joined(c.shape, x.shape, z.shape))


@maker(1.5, since=9)
def integers(m):
    """Casts, and arithmetic of whole numbers."""
    x = m.find(lambda v: True)
    dtype = np.dtype(m.pick(I32, I64, I8, U8, I32))
    scaled = m.add("Clip", [x, m.constant(np.array(0 if dtype == U8 else -6, F32)), m.constant(np.array(6, F32))], x.shape,
                   keep=False) if m.opset >= 11 else m.add("Tanh", [x], x.shape, keep=False)
    if dtype == U8 and m.opset < 11:
        scaled = m.add("Abs", [scaled], x.shape, keep=False)
    i = m.add("Cast", [scaled], x.shape, dtype, to=OF[dtype])
    if dtype in (I32, I64) and m.chance(0.7):
        op = m.pick("Add", "Sub", "Mul", "Div", *(["Mod"] if m.opset >= 10 else []), *(["Max", "Min"] if m.opset >= 12 else []))
        other = m.constant(m.pick(1, 2, 3, -3, 7) * np.ones((), dtype) if op in ("Div", "Mod") else
                           m.rng.integers(-5, 6, x.shape[-1:] if x.rank else ()).astype(dtype))
        i = m.add(op, [i, other], joined(i.shape, other.shape), dtype)
    if m.chance(0.5):
        return m.add("Cast", [i], i.shape, F32, to=TensorProto.FLOAT)
    return i


@maker(0.6, since=18)
def bits(m):
    x = m.find(lambda v: v.dtype in (I32, I64, U8, I8), None)
    op = m.pick("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
    if op == "BitwiseNot":
        return m.add(op, [x], x.shape, x.dtype)
    return m.add(op, [x, m.constant(m.rng.integers(0, 99, x.shape[-1:] if x.rank else ()).astype(x.dtype))], x.shape, x.dtype)


# ---- Windows.
@maker(6, quantized=True)
def conv(m):
    ranks = (4,) if m.for_quantization else (4, 4, 4, 4, 3, 5)
    x = m.find(lambda v: v.rank == ranks[int(m.rng.integers(len(ranks)))])
    n, c, *sides = x.shape
    kernel, strides, dilations, pads, out = [], [], [], ([], []), []
    for side in sides:
        d = m.pick(1, 1, 1, 2)
        k = m.pick(1, 3, 3, 2, 5, 7)
        a, b = m.between(0, k // 2), m.between(0, k // 2)
        if m.chance(0.6):
            a = b = k // 2
        while (k - 1) * d + 1 > side + a + b:
            k -= 1
        s = m.pick(1, 1, 2, 3)
        kernel.append(k), strides.append(s), dilations.append(d), pads[0].append(a), pads[1].append(b)
        out.append((side + a + b - (k - 1) * d - 1) // s + 1)
    if min(kernel) < 1:
        raise Impossible
    group = c if m.chance(0.25) else m.pick(*[g for g in range(1, c + 1) if c % g == 0]) if m.chance(0.15) else 1
    features = group * m.pick(1, 1, 2) if group == c else group * max(1, m.channels() // group)
    shape = (features, c // group, *kernel)
    w = m.weights(shape)
    if not m.for_quantization and m.chance(0.05):
        m.inits.pop()
        w = m.input(shape)
    operands = [x, w]
    if m.chance(0.6):
        operands.append(m.weights((features,), 4))
    attributes = dict(kernel_shape=kernel) if m.chance(0.7) else {}
    if max(strides) > 1 or m.chance(0.3):
        attributes["strides"] = strides
    if max(dilations) > 1:
        attributes["dilations"] = dilations
    if group > 1:
        attributes["group"] = group
    if max(dilations) == 1 and m.chance(0.15):
        attributes["auto_pad"] = m.pick("SAME_UPPER", "SAME_LOWER")
        out = [-(-side // s) for side, s in zip(sides, strides)]
    else:
        attributes["pads"] = pads[0] + pads[1]
    y = m.add("Conv", operands, (n, features, *out), **attributes)
    if m.chance(0.25) and not m.for_quantization:
        p = [m.constant(a.astype(F32)) for a in (m.rng.uniform(0.5, 1.5, features), m.rng.standard_normal(features),
                                                 m.rng.standard_normal(features) * 0.2, m.rng.uniform(0.5, 1.5, features))]
        y = m.add("BatchNormalization", [y, *p], y.shape)
    if m.chance(0.5):
        y = m.add(m.pick("Relu", "Relu", "Sigmoid", "LeakyRelu"), [y], y.shape)
    return y


@maker(0.8)
def conv_transpose(m):
    x = m.find(lambda v: v.rank in (3, 4) and v.size < 4000)
    n, c, *sides = x.shape
    group = m.pick(1, 1, c)
    features = m.pick(1, 2, 3, 8) * group
    k, s = m.between(1, 4), m.between(1, 3)
    p = m.between(0, (k - 1) // 2)
    extra = m.between(0, s - 1) if s > 1 and m.chance(0.3) else 0
    out = [(side - 1) * s + k - 2 * p + extra for side in sides]
    operands = [x, m.weights((c, features // group, *[k] * len(sides)), c * k)]
    if m.chance(0.5):
        operands.append(m.weights((features,), 4))
    attributes = dict(strides=[s] * len(sides), pads=[p] * 2 * len(sides), group=group, kernel_shape=[k] * len(sides))
    if extra:
        attributes["output_padding"] = [extra] * len(sides)
    if min(out) < 1:
        raise Impossible
    return m.add("ConvTranspose", operands, (n, features, *out), **attributes)


@maker(2, quantized=True)
def pool(m):
    x = m.find(lambda v: v.rank == 4 or (v.rank == 3 and not m.for_quantization))
    n, c, *sides = x.shape
    op = m.pick("MaxPool", "AveragePool")
    kernel, strides, pads, out = [], [], [], []
    ceil_mode = m.opset >= 10 and m.chance(0.2)
    for side in sides:
        k = min(m.pick(1, 2, 3, 3, 5), side)
        s, p = m.pick(1, 2, 2, 3), m.between(0, (k - 1) // 2)
        rest = side + 2 * p - k
        o = (-(-rest // s) if ceil_mode else rest // s) + 1
        if ceil_mode and (o - 1) * s >= side + p:
            raise Impossible
        kernel.append(k), strides.append(s), pads.append(p), out.append(o)
    attributes = dict(kernel_shape=kernel, strides=strides, pads=pads * 2)
    if ceil_mode:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and m.chance(0.4) and not ceil_mode:
        attributes["count_include_pad"] = 1
    return m.add(op, [x], (n, c, *out), **attributes)


@maker(1, quantized=True)
def global_pool(m):
    x = m.find(lambda v: v.rank >= 3 and (v.rank == 4 or not m.for_quantization))
    op = "GlobalAveragePool" if m.for_quantization else m.pick("GlobalAveragePool", "GlobalMaxPool")
    return m.add(op, [x], (*x.shape[:2], *[1] * (x.rank - 2)))


@maker(1)
def normalization(m):
    op = m.pick("InstanceNormalization", "LpNormalization", "LRN", *(["LayerNormalization"] if m.opset >= 17 else []),
                *(["GroupNormalization"] if m.opset >= 21 else []))
    if op == "LayerNormalization":
        x = m.find(lambda v: v.rank >= 2)
        axis = m.between(1, x.rank - 1)
        shape = x.shape[axis:]
        if m.opset >= 17 and int(np.prod(shape)) == 1:
            raise Impossible
        operands = [x, m.constant(m.rng.uniform(0.5, 1.5, shape).astype(F32))]
        if m.chance(0.6):
            operands.append(m.constant(m.rng.standard_normal(shape).astype(F32)))
        return m.add(op, operands, x.shape, axis=m.pick(axis, axis - x.rank))
    x = m.find(lambda v: v.rank == 4 and v.shape[2] * v.shape[3] > 1)
    c = x.shape[1]
    if op == "LpNormalization":
        return m.add(op, [x], x.shape, axis=m.between(0, 3), p=m.pick(1, 2))
    if op == "LRN":
        return m.add(op, [x], x.shape, size=m.pick(1, 3, 5))
    scale, bias = (m.constant(a.astype(F32)) for a in (m.rng.uniform(0.5, 1.5, c), m.rng.standard_normal(c)))
    attributes = {"num_groups": m.pick(*[g for g in range(1, c + 1) if c % g == 0])} if op == "GroupNormalization" else {}
    return m.add(op, [x, scale, bias], x.shape, epsilon=1e-3, **attributes)


# ---- Products.
@maker(2, since=7, quantized=True)
def gemm(m):
    x = m.find(lambda v: v.rank == 2)
    b, features = m.chance(0.5), m.channels()
    a = m.chance(0.2) and not m.for_quantization
    rows, depth = x.shape[::-1] if a else x.shape
    operands = [x, m.weights((features, depth) if b else (depth, features), depth)]
    if m.chance(0.7) or m.opset < 11:
        shape = (features,) if m.for_quantization else m.pick((features,), (1, features), (rows, 1), (rows, features), (1,))
        operands.append(m.weights(shape, 4))
    attributes = dict(transB=int(b))
    if a:
        attributes["transA"] = 1
    if m.chance(0.3) and not m.for_quantization:
        attributes.update(alpha=0.7, beta=1.3)
    return m.add("Gemm", operands, (rows, features), **attributes)


@maker(2, quantized=True)
def matmul(m):
    x = m.find(lambda v: v.rank >= 2)
    depth, columns = x.shape[-1], m.channels()
    others = [v for v in m.pool if v.dtype == F32 and v.rank >= 2 and v.shape[-2] == depth and broadcasts(v.shape[:-2], x.shape[:-2])]
    if others and m.chance(0.4):
        y = others[int(m.rng.integers(len(others)))]
    else:
        lead = x.shape[:-2] if m.chance(0.3) and not m.for_quantization else ()
        y = m.weights((*lead, depth, columns), depth)
    return m.add("MatMul", [x, y], (*joined(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]))


@maker(0.4, since=12)
def einsum(m):
    x = m.find(lambda v: v.rank in (2, 3))
    k = m.between(1, 9)
    text = "ij,jk->ik" if x.rank == 2 else m.pick("bij,jk->bik", "bij,kj->bik")
    y = m.weights((k, x.shape[-1]) if "kj" in text else (x.shape[-1], k))
    return m.add("Einsum", [x, y], (*x.shape[:-1], k), equation=text)


# ---- Reductions.
@maker(2)
def reduction(m):
    x = m.find(lambda v: v.rank >= 1)
    op = m.pick("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd", "ReduceLogSumExp")
    axes = sorted(int(a) for a in m.rng.choice(x.rank, m.between(1, x.rank), replace=False))
    if op == "ReduceProd" and np.prod([x.shape[a] for a in axes]) > 6:
        op = "ReduceSum"
    keep = m.chance(0.6)
    shape = [1 if i in axes else d for i, d in enumerate(x.shape) if keep or i not in axes]
    given = [a - x.rank if m.chance(0.3) else a for a in axes]
    since = 13 if op == "ReduceSum" else 18
    if m.opset >= since:
        return m.add(op, [x, m.ints(*given)], shape, keepdims=int(keep))
    return m.add(op, [x], shape, keepdims=int(keep), axes=given if m.opset >= 11 else axes)


@maker(1.2, quantized=True)
def softmax(m):
    x = m.find(lambda v: v.rank >= 2)
    op = "Softmax" if m.for_quantization else m.pick("Softmax", "Softmax", "LogSoftmax")
    return m.add(op, [x], x.shape, axis=x.rank - 1 if m.for_quantization else m.between(0, x.rank - 1))


@maker(0.7)
def arg(m):
    x = m.find(lambda v: v.rank >= 1)
    axis, keep = m.between(0, x.rank - 1), m.chance(0.5)
    shape = [1 if i == axis else d for i, d in enumerate(x.shape) if keep or i != axis]
    return m.add(m.pick("ArgMax", "ArgMin"), [x], shape, I64, axis=axis, keepdims=int(keep))


@maker(0.5, since=11)
def running_sum(m):
    x = m.find(lambda v: v.rank >= 1)
    return m.add("CumSum", [x, m.constant(np.array(m.between(0, x.rank - 1), I64))], x.shape,
                 exclusive=m.between(0, 1), reverse=m.between(0, 1))


@maker(0.5, since=11)
def top_k(m):
    x = m.find(lambda v: v.rank >= 1 and v.size < 4000)
    axis = m.between(0, x.rank - 1)
    k = m.between(1, x.shape[axis])
    shape = [k if i == axis else d for i, d in enumerate(x.shape)]
    values = Value(m.name(), shape, F32)
    m.nodes.append(helper.make_node("TopK", [x.name, m.ints(k).name], [values.name, m.name()], axis=axis, largest=m.between(0, 1)))
    m.read.add(x.name)
    m.pool.append(values)
    return values


# ---- Shapes.
@maker(2, quantized=True)
def reshape(m):
    x = m.find(lambda v: v.rank >= 1)
    kind = m.pick("flatten", "merge", "split", "minus")
    if kind == "flatten":
        axis = m.between(1, x.rank) if not m.for_quantization else 1
        shape = (int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:])))
        return m.add("Flatten", [x], shape, axis=axis)
    if kind == "merge" and x.rank >= 2:
        i = m.between(0, x.rank - 2)
        shape = (*x.shape[:i], x.shape[i] * x.shape[i + 1], *x.shape[i + 2:])
    elif kind == "split":
        i = m.between(0, x.rank - 1)
        d = m.pick(*[d for d in range(1, x.shape[i] + 1) if x.shape[i] % d == 0])
        shape = (*x.shape[:i], d, x.shape[i] // d, *x.shape[i + 1:])
    else:
        shape = (x.shape[0], x.size // x.shape[0])
    if len(shape) > 5:
        raise Impossible
    text = list(shape)
    if m.chance(0.4):
        text[m.between(0, len(text) - 1)] = -1
    return m.add("Reshape", [x, m.ints(*text)], shape)


@maker(2, quantized=True)
def transpose(m):
    x = m.find(lambda v: v.rank >= 2, None if not m.for_quantization else F32)
    order = [int(i) for i in m.rng.permutation(x.rank)]
    return m.add("Transpose", [x], [x.shape[i] for i in order], x.dtype, perm=order)


@maker(1, since=13)
def squeeze(m):
    x = m.find(lambda v: v.rank >= 1 and v.rank < 5, None)
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    if ones and m.chance(0.5):
        i = m.pick(*ones)
        return m.add("Squeeze", [x, m.ints(i)], x.shape[:i] + x.shape[i + 1:], x.dtype)
    i = m.between(0, x.rank)
    return m.add("Unsqueeze", [x, m.ints(i)], x.shape[:i] + (1,) + x.shape[i:], x.dtype)


@maker(0.8, since=8)
def expand(m):
    x = m.find(lambda v: 1 in v.shape or v.rank < 3)
    shape = [d if d > 1 else m.between(1, 4) for d in x.shape]
    if m.chance(0.5) and x.rank < 4:
        shape = [m.between(1, 3)] + shape
    return m.add("Expand", [x, m.ints(*shape)], shape)


@maker(0.5, since=7)
def tile(m):
    x = m.find(lambda v: 1 <= v.rank and v.size < 3000)
    times = [m.between(1, 3) for _ in x.shape]
    return m.add("Tile", [x, m.ints(*times)], [a * b for a, b in zip(x.shape, times)])


@maker(2, quantized=True)
def concat(m):
    x = m.find(lambda v: v.rank >= 1)
    axis = m.between(0, x.rank - 1) if not m.for_quantization else min(1, x.rank - 1)
    fits = [v for v in m.pool if v.dtype == F32 and v.rank == x.rank and v.shape[:axis] == x.shape[:axis] and v.shape[axis + 1:] == x.shape[axis + 1:]]
    parts = [fits[int(m.rng.integers(len(fits)))] for _ in range(m.between(1, 3))] + [x]
    if m.chance(0.2) and not m.for_quantization:
        parts.append(m.constant(m.rng.standard_normal([m.between(1, 4) if i == axis else d for i, d in enumerate(x.shape)]).astype(F32)))
    shape = list(x.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    return m.add("Concat", parts, shape, axis=axis)


@maker(1, since=13, quantized=True)
def split(m):
    x = m.find(lambda v: any(d > 1 for d in v.shape))
    axis = m.pick(*[i for i, d in enumerate(x.shape) if d > 1])
    cut = m.between(1, x.shape[axis] - 1)
    shapes = [[n if i == axis else d for i, d in enumerate(x.shape)] for n in (cut, x.shape[axis] - cut)]
    return m.add("Split", [x, m.ints(cut, x.shape[axis] - cut)], shapes, outputs=2, axis=axis)


@maker(1.5, since=10)
def cut(m):
    x = m.find(lambda v: v.rank >= 1, None)
    starts, ends, steps, shape = [], [], [], []
    for d in x.shape:
        step = m.pick(1, 1, 2, -1, -2, 3)
        begin, end = sorted(m.rng.integers(0, d + 1, 2).tolist())
        if begin == end:
            begin, end = 0, d
        if step < 0:
            begin, end = end - 1, begin - 1 if begin > 0 else -d - 5
        starts.append(begin), ends.append(end if m.chance(0.8) or step < 0 else (end if end < d else 2**40)), steps.append(step)
        shape.append(len(range(*slice(begin, None if end < 0 else end, step).indices(d))))
    return m.add("Slice", [x, m.ints(*starts), m.ints(*ends), m.ints(*range(x.rank)), m.ints(*steps)], shape, x.dtype)


@maker(1, since=11)
def gather(m):
    x = m.find(lambda v: v.rank >= 1)
    axis = m.between(0, x.rank - 1)
    if m.chance(0.4) and m.opset >= 11:
        n = m.between(1, 5)
        shape = [n if i == axis else d for i, d in enumerate(x.shape)]
        index = m.rng.integers(-x.shape[axis], x.shape[axis], shape)
        return m.add("GatherElements", [x, m.constant(index.astype(m.pick(I64, I32)))], shape, axis=axis)
    index = m.rng.integers(-x.shape[axis], x.shape[axis], m.pick((), (1,), (3,), (2, 2)))
    return m.add("Gather", [x, m.constant(index.astype(I64))], (*x.shape[:axis], *index.shape, *x.shape[axis + 1:]), axis=axis)


@maker(1, since=11)
def pad(m):
    x = m.find(lambda v: v.rank >= 1 and v.size < 4000)
    mode = m.pick("constant", "constant", "reflect", "edge")
    most = [2 if mode == "constant" else min(2, d - 1) if mode == "reflect" else 2 for d in x.shape]
    begin, end = ([m.between(0, k) for k in most] for _ in range(2))
    if mode == "constant" and m.chance(0.2) and x.shape[-1] > 2:
        end[-1] = -1
    operands = [x, m.ints(*begin, *end)]
    if mode == "constant" and m.chance(0.5):
        operands.append(m.constant(np.array(0.75, F32)))
    return m.add("Pad", operands, [d + a + b for d, a, b in zip(x.shape, begin, end)], mode=mode)


@maker(1, since=11)
def resize(m):
    x = m.find(lambda v: v.rank == 4 and v.size < 4000)
    mode = m.pick("nearest", "linear", "cubic")
    sizes = list(x.shape[:2]) + [m.between(1, 2 * d + 1) for d in x.shape[2:]]
    where = m.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    attributes = dict(mode=mode, coordinate_transformation_mode=where)
    if mode == "nearest":
        attributes["nearest_mode"] = m.pick("round_prefer_floor", "floor", "ceil", "round_prefer_ceil")
    if where == "align_corners" and min(sizes[2:]) < 2:
        raise Impossible
    if m.chance(0.5):
        scales = [1.0, 1.0, *[m.pick(1.0, 2.0, 3.0, 0.5) for _ in (0, 1)]]
        shape = [int(np.floor(d * s)) for d, s in zip(x.shape, scales)]
        if min(shape) < 1 or (where == "align_corners" and min(shape[2:]) < 2):
            raise Impossible
        return m.add("Resize", [x, m.constant(np.array([], F32)), m.constant(np.array(scales, F32))], shape, **attributes)
    return m.add("Resize", [x, m.constant(np.array([], F32)), m.constant(np.array([], F32)), m.ints(*sizes)], sizes, **attributes)


@maker(0.8, since=11, quantized=True)
def upscale(m):
    x = m.find(lambda v: v.rank == 4 and v.size < 3000)
    shape = (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3])
    return m.add("Resize", [x, m.constant(np.array([], F32)), m.constant(np.array([1, 1, 2, 2], F32))], shape,
                 mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@maker(0.6, since=11)
def blocks(m):
    if m.chance(0.5):
        x = m.find(lambda v: v.rank == 4 and v.shape[1] % 4 == 0)
        n, c, h, w = x.shape
        return m.add("DepthToSpace", [x], (n, c // 4, 2 * h, 2 * w), blocksize=2, mode=m.pick("DCR", "CRD"))
    x = m.find(lambda v: v.rank == 4 and v.shape[2] % 2 == 0 and v.shape[3] % 2 == 0)
    n, c, h, w = x.shape
    return m.add("SpaceToDepth", [x], (n, 4 * c, h // 2, w // 2), blocksize=2)


@maker(0.3, since=14)
def triangle(m):
    x = m.find(lambda v: v.rank >= 2)
    return m.add("Trilu", [x, m.constant(np.array(m.between(-2, 2), I64))], x.shape, upper=m.between(0, 1))


@maker(0.5, since=16)
def scatter(m):
    x = m.find(lambda v: v.rank >= 1)
    rows = m.rng.permutation(x.shape[0])[:m.between(1, x.shape[0])].reshape(-1, 1)
    updates = m.constant(m.rng.standard_normal((rows.shape[0], *x.shape[1:])).astype(F32))
    return m.add("ScatterND", [x, m.constant(rows.astype(I64)), updates], x.shape, reduction=m.pick("none", "add"))


@maker(0.5, since=16)
def grid_sample(m):
    x = m.find(lambda v: v.rank == 4 and v.size < 3000)
    h, w = m.between(1, 6), m.between(1, 6)
    grid = m.constant(m.rng.uniform(-1.3, 1.3, (x.shape[0], h, w, 2)).astype(F32))
    mode = m.pick("linear", "nearest", "cubic") if m.opset >= 20 else m.pick("bilinear", "nearest", "bicubic")
    return m.add("GridSample", [x, grid], (*x.shape[:2], h, w), mode=mode,
                 padding_mode=m.pick("zeros", "border", "reflection"), align_corners=m.between(0, 1))


@maker(0.5, since=13)
def shape_arithmetic(m):
    x = m.find(lambda v: v.rank >= 2)
    s = m.add("Shape", [x], (x.rank,), I64, keep=False)
    first = m.add("Slice", [s, m.ints(0), m.ints(1)], (1,), I64, keep=False)
    both = m.add("Concat", [first, m.ints(-1)], (2,), I64, keep=False, axis=0)
    return m.add("Reshape", [x, both], (x.shape[0], x.size // x.shape[0]))


# ---- Quantized operators by hand.
@maker(0.7, since=13)
def quantize(m):
    x = m.find(lambda v: v.rank >= 1)
    dtype = np.dtype(m.pick(I8, U8))
    zero = m.constant(np.array(m.between(0, 9) + (100 if dtype == U8 else 0), dtype))
    scale = m.constant(np.array(m.rng.uniform(0.01, 0.05), F32))
    q = m.add("QuantizeLinear", [x, scale, zero], x.shape, dtype)
    return m.add("DequantizeLinear", [q, scale, zero], x.shape)


@maker(0.5, since=11)
def integer_product(m):
    x = m.find(lambda v: v.rank == 2)
    q = Value(m.name(), x.shape, U8)
    scale, zero = Value(m.name(), (), F32), Value(m.name(), (), U8)
    m.nodes.append(helper.make_node("DynamicQuantizeLinear", [x.name], [q.name, scale.name, zero.name]))
    m.read.add(x.name)
    n = m.channels()
    w = m.constant(m.rng.integers(-127, 128, (x.shape[1], n)).astype(I8))
    y = m.add("MatMulInteger", [q, w, zero], (x.shape[0], n), I32, keep=False)
    y = m.add("Cast", [y], y.shape, F32, keep=False, to=TensorProto.FLOAT)
    return m.add("Mul", [y, scale], y.shape)

# ---- Less common operators.
@maker(0.6, since=7)
def angles(m):
    """Trigonometric and hyperbolic functions, arguments inside of what they are defined for."""
    op = m.pick("Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh")
    if op in ("Sinh", "Cosh", "Asinh", "Acosh", "Atanh") and m.opset < 9:
        raise Impossible
    x = m.find(lambda v: True)
    inner = m.add("Tanh", [x], x.shape, keep=False)
    inner = m.add("Mul", [inner, m.constant(np.array(0.9, F32))], x.shape, keep=False)
    if op == "Acosh":
        inner = m.add("Add", [inner, m.constant(np.array(2.5, F32))], x.shape, keep=False)
    return m.add(op, [inner], x.shape)


@maker(0.4, since=9)
def shrink(m):
    x = m.find(lambda v: True)
    return m.add("Shrink", [x], x.shape, lambd=0.5, bias=m.pick(0.0, 0.25))


@maker(0.5, since=7)
def hard_choice(m):
    x = m.find(lambda v: v.rank >= 2)
    return m.add("Hardmax", [x], x.shape, axis=m.between(0, x.rank - 1))


@maker(0.6, since=7)
def lp_pool(m):
    x = m.find(lambda v: v.rank == 4)
    if m.opset < 22 and m.chance(0.4):  # ONNX Runtime has no later one
        return m.add("GlobalLpPool", [x], (*x.shape[:2], 1, 1), p=m.pick(1, 2, 3))
    k, s = min(m.pick(1, 2, 3), *x.shape[2:]), m.pick(1, 2)
    return m.add("LpPool", [x], (*x.shape[:2], *[(d - k) // s + 1 for d in x.shape[2:]]), kernel_shape=[k, k], strides=[s, s], p=m.pick(1, 2))


@maker(0.4, since=11)
def shifts(m):
    x = m.find(lambda v: v.dtype == np.uint8, None)
    return m.add("BitShift", [x, m.constant(m.rng.integers(0, 8, x.shape[-1:] if x.rank else ()).astype(np.uint8))], x.shape, np.uint8,
                 direction=m.pick("LEFT", "RIGHT"))


@maker(0.5, since=13)
def integer_power(m):
    x = m.find(lambda v: v.dtype in (I32, I64), None)
    low = m.add("Mod", [x, m.constant(np.array(5, x.dtype))], x.shape, x.dtype, keep=False)
    return m.add("Pow", [low, m.constant(np.array(m.pick(0, 1, 2, 3), x.dtype))], x.shape, x.dtype)


@maker(0.6, since=13)
def other_floats(m):
    x = m.find(lambda v: True)
    to = m.pick(np.float16, np.float64)
    y = m.add("Cast", [x], x.shape, to, keep=False, to=OF[np.dtype(to)])
    if m.chance(0.5):
        y = m.add(m.pick("Relu", "Neg", "Abs"), [y], x.shape, to, keep=False)
    return m.add("Cast", [y], x.shape, F32, to=TensorProto.FLOAT)


@maker(0.5, since=9)
def picked(m):
    x = m.find(lambda v: v.rank >= 1)
    axis = m.between(0, x.rank - 1)
    keep = m.rng.random(x.shape[axis]) < 0.6
    keep[m.between(0, len(keep) - 1)] = True
    shape = [int(keep.sum()) if i == axis else d for i, d in enumerate(x.shape)]
    return m.add("Compress", [x, m.constant(keep)], shape, axis=axis)


@maker(0.5, since=18)
def columns(m):
    kind = m.pick("Col2Im", "CenterCropPad")
    if kind == "CenterCropPad":
        x = m.find(lambda v: v.rank >= 1 and v.size < 4000)
        shape = [m.between(1, d + 3) for d in x.shape]
        return m.add(kind, [x, m.ints(*shape)], shape)
    h, w, k = m.between(3, 6), m.between(3, 6), m.between(1, 3)
    places = (h - k + 1) * (w - k + 1)
    x = m.find(lambda v: v.size < 2000 and v.rank >= 2)
    c = m.between(1, 3)
    wanted = m.weights((x.size, c * k * k * places), x.size)
    flat = m.add("Reshape", [x, m.ints(1, x.size)], (1, x.size), keep=False)
    y = m.add("MatMul", [flat, wanted], (1, c * k * k * places), keep=False)
    y = m.add("Reshape", [y, m.ints(1, c * k * k, places)], (1, c * k * k, places), keep=False)
    return m.add(kind, [y, m.ints(h, w), m.ints(k, k)], (1, c, h, w))


@maker(0.8, since=23)
def attention(m):
    """Query, key and value of a sequence, by matrix products as models have them."""
    x = m.find(lambda v: v.rank == 3)
    b, n, d = x.shape
    heads, size = m.pick(1, 2, 4), m.pick(4, 8, 5)
    groups = heads if m.chance(0.7) else 1
    project = lambda h: m.add("MatMul", [x, m.weights((d, h * size), d)], (b, n, h * size), keep=False)
    attributes = dict(q_num_heads=heads, kv_num_heads=groups)
    if m.chance(0.3):
        attributes["is_causal"] = 1
    if m.chance(0.3):
        attributes["softcap"] = 5.0
    return m.add("Attention", [project(heads), project(groups), project(groups)], (b, n, heads * size), **attributes)


@maker(0.4, since=23)
def rotary(m):
    x = m.find(lambda v: v.rank == 4 and v.shape[3] % 2 == 0)
    b, _, n, d = x.shape
    cos, sin = (m.constant(m.rng.uniform(-1, 1, (b, n, d // 2)).astype(F32)) for _ in (0, 1))
    return m.add("RotaryEmbedding", [x, cos, sin], x.shape, interleaved=m.between(0, 1))


@maker(0.5, since=23)
def rms_normalization(m):
    x = m.find(lambda v: v.rank >= 2)
    return m.add("RMSNormalization", [x, m.constant(m.rng.uniform(0.5, 1.5, x.shape[-1:]).astype(F32))], x.shape, axis=-1)


@maker(0.4, since=13)
def whole_resize(m):
    x = m.find(lambda v: v.rank == 4 and v.dtype in (U8, I8, I32) and v.size < 3000, None)
    shape = (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3])
    return m.add("Resize", [x, "", m.constant(np.array([1, 1, 2, 2], F32))], shape, x.dtype, mode=m.pick("nearest", "linear"),
                 coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@maker(0.4, since=13)
def mean_variance(m):
    x = m.find(lambda v: v.rank == 4 and v.size > 40)
    if x.shape[0] * x.shape[2] * x.shape[3] < 4:
        raise Impossible
    return m.add("MeanVarianceNormalization", [x], x.shape)


# ---- Recurrent operators, and those of ONNX Runtime's domain.
FUNCTIONS = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "Softsign": 0, "Softplus": 0, "LeakyRelu": 1, "ThresholdedRelu": 1, "Elu": 1,
             "Affine": 2, "ScaledTanh": 2, "HardSigmoid": 2}


def three(m):
    """A value [steps, batch, inputs], for which images will do."""
    x = m.find(lambda v: v.rank in (3, 4) and v.size < 3000)
    if x.rank == 3:
        return x
    shape = (x.shape[0] * x.shape[2], x.shape[3], x.shape[1])
    return m.add("Reshape", [m.add("Transpose", [x], tuple(x.shape[i] for i in (0, 2, 3, 1)), keep=False, perm=[0, 2, 3, 1]),
                             m.ints(*shape)], shape, keep=False)


@maker(2, since=14)
def recurrent(m):
    x = three(m)
    kind = m.pick("LSTM", "LSTM", "GRU", "GRU", "RNN")
    gates, each = {"LSTM": (4, 3), "GRU": (3, 2), "RNN": (1, 1)}[kind]
    steps, batch, size = x.shape
    attributes = {}
    if m.chance(0.2) and kind != "GRU":  # ONNX Runtime has it for no operator but by a transposition of its own
        attributes["layout"] = 0
    direction = m.pick("forward", "reverse", "bidirectional")
    d, h = (2 if direction == "bidirectional" else 1), m.pick(1, 4, 5, 8, 16, 24)
    if direction != "forward":
        attributes["direction"] = direction
    optional = lambda chance, shape: m.weights(shape, 2) if m.chance(chance) else ""
    operands = [x, m.weights((d, gates * h, size), size), m.weights((d, gates * h, h), h), optional(0.7, (d, 2 * gates * h))]
    operands.append(m.constant(m.rng.integers(1, steps + 1, batch).astype(I32)) if m.chance(0.3) else "")
    operands.append(optional(0.5, (d, batch, h)))
    if kind == "LSTM":
        operands.append(optional(0.5, (d, batch, h)))
        operands.append(optional(0.3, (d, 3 * h)))
        if m.chance(0.2):
            attributes["input_forget"] = 1
    if kind == "GRU" and m.chance(0.5):
        attributes["linear_before_reset"] = 1
    if m.chance(0.2):
        attributes["clip"] = float(m.rng.uniform(0.3, 2))
    if m.chance(0.4):
        bounded = ("Tanh", "Sigmoid", "Softsign", "HardSigmoid", "ScaledTanh")  # gates that open wider let states grow without end
        names = [m.pick(*bounded) if i % each == 0 else m.pick(*FUNCTIONS) for i in range(d * each)]
        attributes["activations"] = names
        if m.chance(0.6) or {"Affine", "ScaledTanh"} & set(names):  # two that have no defaults
            for k, name in enumerate(("activation_alpha", "activation_beta")):
                numbers = [float(m.rng.uniform(0.1, 1)) for n in names if FUNCTIONS[n] > k]
                if numbers:
                    attributes[name] = numbers
    shapes = [(steps, d, batch, h), (d, batch, h), (d, batch, h)][:3 if kind == "LSTM" else 2]
    return m.add(kind, operands, shapes, outputs=len(shapes), hidden_size=h, **attributes)


@maker(0.6, since=13)
def dynamic_recurrent(m):
    x = three(m)
    steps, batch, size = x.shape
    d, h = m.pick(1, 2), m.pick(4, 8, 16)
    weight = lambda rows: m.constant(m.rng.integers(-60, 61, (d, rows, 4 * h)).astype(I8))
    per_column = m.chance(0.5)
    scale = lambda rows: m.constant((m.rng.uniform(0.5, 1, (d, 4 * h) if per_column else (d,)) / 40 / np.sqrt(rows)).astype(F32))
    zero = lambda: m.constant(np.zeros((d, 4 * h) if per_column else (d,), I8))
    optional = lambda chance, shape: m.weights(shape, 2) if m.chance(chance) else ""
    operands = [x, weight(size), weight(h), optional(0.7, (d, 8 * h)), "", optional(0.5, (d, batch, h)), optional(0.5, (d, batch, h)),
                optional(0.2, (d, 3 * h)), scale(size), zero(), scale(h), zero()]
    return m.add("DynamicQuantizeLSTM", operands, [(steps, d, batch, h), (d, batch, h), (d, batch, h)], outputs=3, domain=RUNTIME,
                 hidden_size=h, direction="bidirectional" if d == 2 else "forward")


@maker(1, since=13)
def fused_gelu(m):
    x = m.find(lambda v: v.rank > 0)
    op = m.pick("BiasGelu", "FastGelu", "FastGelu", "Gelu", "QuickGelu")
    bias = op == "BiasGelu" or (op == "FastGelu" and m.chance(0.5))
    operands = [x] + ([m.weights(x.shape[-1:], 2)] if bias else [])
    attributes = {"alpha": 1.3} if op == "QuickGelu" and m.chance(0.5) else {}
    return m.add(op, operands, x.shape, domain=RUNTIME, **attributes)


@maker(1, since=13)
def fused_conv(m):
    x = m.find(lambda v: v.rank == 4)
    n, c, height, width = x.shape
    features, k = m.channels(), m.pick(1, 3)
    shape = (n, features, height, width)
    operands = [x, m.weights((features, c, k, k)), m.weights((features,), 4) if m.chance(0.6) else ""]
    if m.chance(0.4):
        operands.append(m.constant(m.rng.standard_normal(shape).astype(F32)))
    name, numbers = m.pick(("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.7]),
                           ("HardSigmoid", [0.3, 0.4]))
    attributes = dict(activation_params=numbers) if numbers else {}
    return m.add("FusedConv", operands, shape, domain=RUNTIME, kernel_shape=[k, k], pads=[k // 2] * 4, activation=name, **attributes)


@maker(1, since=13)
def fused_product(m):
    x = m.find(lambda v: v.rank >= 2)
    n = m.channels()
    if m.chance(0.4):
        if x.rank > 2:
            x = m.add("Flatten", [x], (x.shape[0], x.size // x.shape[0]), keep=False)
        trans = m.between(0, 1)
        operands = [x, m.weights((n, x.shape[1]) if trans else (x.shape[1], n), x.shape[1])]
        if m.chance(0.6):
            operands.append(m.weights((n,), 2))
        name = m.pick("Relu", "Tanh", "Sigmoid", "LeakyRelu", "Elu")
        attributes = dict(activation_alpha=0.3) if name in ("LeakyRelu", "Elu") else {}
        return m.add("FusedGemm", operands, (x.shape[0], n), domain=RUNTIME, transB=trans, activation=name, **attributes)
    trans_a, trans_b = m.between(0, 1), m.between(0, 1)
    shape, attributes = x.shape, {}
    if x.rank > 2 and m.chance(0.4):
        attributes["transBatchA"] = 1
        shape = (*shape[1:-1], shape[0], shape[-1])
    if trans_a:
        shape = (*shape[:-2], shape[-1], shape[-2])
    batch = shape[:-2] if attributes else ()  # ONNX Runtime wants both sides to have one then
    w = m.weights((*batch, n, shape[-1]) if trans_b else (*batch, shape[-1], n), shape[-1])
    return m.add("FusedMatMul", [x, w], (*shape[:-1], n), domain=RUNTIME, transA=trans_a, transB=trans_b,
                 alpha=float(m.pick(1.0, 0.5, -1.25)), **attributes)


@maker(1, since=13)
def skip_norm(m):
    x = m.find(lambda v: v.rank == 3)
    ones = lambda: m.constant(m.rng.uniform(0.5, 1.5, x.shape[-1:]).astype(F32))
    skip = m.constant(m.rng.standard_normal(x.shape if m.chance(0.6) else x.shape[1:]).astype(F32))
    if m.chance(0.3):
        return m.add("SimplifiedLayerNormalization", [x, ones()], x.shape, axis=-1, epsilon=1e-5)
    simple = m.chance(0.4)
    operands = [x, skip, ones()] + ([] if simple else [m.weights(x.shape[-1:], 2) if m.chance(0.7) else ""])
    if m.chance(0.5):
        operands.append(m.weights(x.shape[-1:], 2))
    if not operands[-1]:
        operands.pop()
    op = "SkipSimplifiedLayerNormalization" if simple else "SkipLayerNormalization"
    attributes = dict(epsilon=float(m.pick(1e-5, 1e-12, 1e-3)))
    if m.chance(0.5):
        return m.add(op, operands, x.shape, domain=RUNTIME, **attributes)
    y = m.add(op, operands, x.shape, domain=RUNTIME, **attributes)
    total = Value(m.name(), x.shape, F32)
    m.nodes[-1].output.extend(["", "", total.name])
    m.pool.append(total)
    return y


@maker(0.4, since=13)
def embedded(m):
    b, n, d = m.between(1, 3), m.between(1, 7), m.pick(4, 8, 12, 33)
    ids = lambda top, shape: m.constant(m.rng.integers(0, top, shape).astype(I32))
    table = lambda rows: m.constant(m.rng.standard_normal((rows, d)).astype(F32))
    kinds = m.chance(0.6)
    operands = [ids(20, (b, n)), ids(2, (b, n)) if kinds else "", table(20), table(9), table(2) if kinds else "",
                m.constant(m.rng.uniform(0.5, 1.5, d).astype(F32)), m.weights((d,), 2)]
    operands.append(ids(2, (b, n)) if m.chance(0.5) else "")
    if m.chance(0.4):
        operands.append(ids(9, (b, n)))
    elif not operands[-1]:
        operands.pop()
    y = m.add("EmbedLayerNormalization", operands, (b, n, d), domain=RUNTIME, epsilon=1e-5)
    count = Value(m.name(), (b,), I32)
    m.nodes[-1].output.append(count.name)
    m.pool.append(count)
    x = m.find(lambda v: v.rank == 3 and broadcasts(v.shape, y.shape))  # what is constant is no graph
    return m.add("Add", [x, y], joined(x.shape, y.shape))


@maker(1.5, since=13)
def fused_attention(m):
    x = m.find(lambda v: v.rank == 3)
    b, n, d = x.shape
    heads, size = m.pick(1, 2, 4), m.pick(4, 8, 5)
    w = heads * size
    attributes = dict(num_heads=heads)
    if m.chance(0.3):
        attributes["unidirectional"] = 1
    if m.chance(0.3):
        attributes["scale"] = 0.4
    past = m.pick(0, 0, 3)
    total = n + past
    mask = ""
    if m.chance(0.5) and past == 0:
        mask = m.pick(lambda: m.rng.integers(1, n + 1, b), lambda: m.rng.integers(0, 2, (b, n)), lambda: m.rng.integers(0, 2, (b, n, n)))()
        mask = m.constant(mask.astype(I32))
        if m.chance(0.5):
            attributes["mask_filter_value"] = -50.0
    bias = m.constant(m.rng.standard_normal((m.pick(1, b), m.pick(1, heads), n, total)).astype(F32)) if m.chance(0.3) and not past else ""
    normal = lambda *shape: m.constant(m.rng.standard_normal(shape).astype(F32))
    outputs = 1
    if m.chance(0.5):
        operands = [x, m.weights((d, 3 * w), d), m.weights((3 * w,), 4), mask, normal(2, b, heads, past, size) if past else "", bias]
        op, shapes = "Attention", [(b, n, w), (2, b, heads, total, size)]
        outputs = 2 if past else 1
    else:
        project = lambda: m.add("MatMul", [x, m.weights((d, w), d)], (b, n, w), keep=False)
        operands = [project(), project(), project(), m.weights((3 * w,), 4) if m.chance(0.5) else "", mask, bias]
        if past:
            operands += [normal(b, heads, past, size), normal(b, heads, past, size)]
            outputs = 3
        op, shapes = "MultiHeadAttention", [(b, n, w), *[(b, heads, total, size)] * 2]
    while not operands[-1]:
        operands.pop()
    return m.add(op, operands, shapes[:outputs] if outputs > 1 else shapes[0], outputs=outputs, domain=RUNTIME, **attributes)


@maker(1, since=13)
def dynamic_product(m):
    x = m.find(lambda v: v.rank >= 2)
    n, k = m.channels(), x.shape[-1]
    w = m.constant(m.rng.integers(-100, 101, (k, n)).astype(I8))
    per_column = m.chance(0.5)
    scale = m.constant((m.rng.uniform(0.5, 1, (n,) if per_column else ()) / 100).astype(F32))
    zero = m.constant(m.rng.integers(-5, 6, (n,) if per_column else ()).astype(I8)) if m.chance(0.5) else ""
    bias = [m.weights((n,), 4)] if m.chance(0.5) else []
    shape = (*x.shape[:-1], n)
    if m.chance(0.5):
        operands = [x, w, scale, zero, *bias]
        while not operands[-1]:
            operands.pop()
        return m.add("DynamicQuantizeMatMul", operands, shape, domain=RUNTIME)
    q, step, at = m.add("DynamicQuantizeLinear", [x], [x.shape, (), ()], outputs=3, keep=False)
    operands = [q, w, step, scale, at, zero, *bias]
    while not operands[-1]:
        operands.pop()
    return m.add("MatMulIntegerToFloat", operands, shape, domain=RUNTIME)


@maker(0.5, since=13)
def last_channels_pool(m):
    x = m.find(lambda v: v.rank == 4 and min(v.shape[1:3]) >= 2)
    zero = m.constant(np.array(m.between(100, 140), U8) if m.chance(0.5) else np.array(m.between(-9, 9), I8))
    x = m.add("QuantizeLinear", [x, m.constant(np.array(0.02, F32)), zero], x.shape, zero.dtype, keep=False)
    n, h, w, c = x.shape
    s = m.between(1, 2)
    shape = (n, (h - 2) // s + 1, (w - 2) // s + 1, c)
    return m.add("NhwcMaxPool", [x], shape, x.dtype, domain=RUNTIME, kernel_shape=[2, 2], strides=[s, s])


def make(seed, opset, quantized=False):
    """A model with one to twelve steps behind one to three inputs."""
    m = Maker(seed, opset, quantized)
    shapes = [(m.pick(1, 1, 1, 2), m.channels(), m.between(1, 12), m.between(1, 12))]
    if quantized:
        shapes = [(1, m.channels(), m.between(4, 12), m.between(4, 12))]
    else:
        for _ in range(m.between(0, 2)):
            shapes.append(m.pick((m.between(1, 4), m.channels()), (m.between(1, 3), m.between(1, 9), m.channels()), shapes[0],
                                 (shapes[0][1], 1, 1), (m.channels(),), (1, m.channels(), m.between(1, 12))))
    for shape in shapes:
        m.input(shape)
    table = [(w, f) for w, since, fit, f in MAKERS if since <= opset and (fit or not quantized)]
    weights = np.array([w for w, _ in table])
    todo = m.between(2, 7) if quantized else m.between(1, 10)
    for _ in range(200):
        before = (len(m.nodes), len(m.inits), list(m.pool), set(m.read), list(m.inputs))
        try:
            table[int(m.rng.choice(len(table), p=weights / weights.sum()))][1](m)
            todo -= 1
        except Impossible:
            del m.nodes[before[0]:], m.inits[before[1]:]
            m.pool, m.read, m.inputs = before[2], before[3], before[4]
        if todo == 0:
            break
    used = {name for n in m.nodes for name in n.input}
    m.inits = [i for i in m.inits if i.name in used]
    m.inputs = [v for v in m.inputs if v.name in used]
    return m.model()
