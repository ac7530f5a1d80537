"""Which results of a graph are right, when two programs differ.

Every node is evaluated as ONNX defines it, in float64: once exactly, and several times with an error
put on every result that float32 arithmetic may make there: some units in the last place of the sum
of magnitudes that the element is (for sums), or of the element. What the exact and the disturbed
evaluations span, widened, is what a right program may answer; for whole numbers the span itself, so
a tie (a value halfway between two) admits both neighbours, and everything else one number.

What a step function (Ceil, a comparison, a cast to integers) takes is disturbed further: a value that
may lie on either side of a step has to be seen on both, and a value without an error stays what it is."""
import itertools
import math

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from runtime_operators import DEFINED, function

EPS = 2.0 ** -23
LEAST = 2.0 ** -126  # of float32; what is smaller may lose its digits, or be 0
STEPS = {"Ceil", "Floor", "Round", "Sign", "Mod", "ThresholdedRelu", "Shrink", "Hardmax", "Greater", "Less", "GreaterOrEqual",
         "LessOrEqual", "Equal", "ArgMax", "ArgMin", "TopK"}
BEYOND = 4  # times the error that a value has come to: how far a step function is asked
SUMS = {"Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum", "ReduceSum", "ReduceMean", "AveragePool", "GlobalAveragePool",
        "CumSum", "Sum", "Add", "Sub", "Mean", "ReduceL1", "ReduceSumSquare", "Resize", "GridSample", "ReduceL2", "LpPool", "GlobalLpPool",
        "Col2Im", "RotaryEmbedding"}
WHOLE = {"InstanceNormalization", "LayerNormalization", "GroupNormalization", "BatchNormalization", "LpNormalization", "LRN",
         "RMSNormalization", "Attention"}
MOVES = {"Identity", "Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Gather", "GatherElements", "Concat", "Split", "Expand",
         "Tile", "Pad", "MaxPool", "GlobalMaxPool", "Relu", "Max", "Min", "Clip", "Where", "Abs", "Neg", "Dropout", "DepthToSpace",
         "SpaceToDepth", "Trilu", "ScatterND", "TopK", "Cast", "Shape", "Floor", "Ceil", "Round", "Sign", "ReduceMax", "ReduceMin", "Compress", "CenterCropPad", "Shrink", "Hardmax"}


def quantized(x, scale, zero, axis=1):
    info = np.iinfo(zero.dtype)
    shape = [-1 if i == axis % max(1, x.ndim) else 1 for i in range(x.ndim)] if np.ndim(scale) == 1 and np.size(scale) > 1 else ()
    s, z = np.reshape(scale, shape).astype(np.float64), np.reshape(zero, shape).astype(np.float64)
    return np.clip(np.rint(x / s) + z, info.min, info.max).astype(zero.dtype)


def real(q, scale, zero=None, axis=1):
    shape = [-1 if i == axis % max(1, q.ndim) else 1 for i in range(q.ndim)] if np.ndim(scale) == 1 and np.size(scale) > 1 else ()
    s = np.reshape(scale, shape).astype(np.float64)
    return (q.astype(np.float64) - (0 if zero is None else np.reshape(zero, shape).astype(np.float64))) * s


def has_steps(node):
    if node.op_type != "Cast":
        return node.op_type in STEPS
    to = next(a.i for a in node.attribute if a.name == "to")
    return helper.tensor_dtype_to_np_dtype(to).kind in "iub"


def further(value, exact):
    """A disturbed value, moved on in the direction of its error."""
    if value is None or exact is None or np.asarray(value).dtype.kind != "f":
        return value
    with np.errstate(invalid="ignore"):
        moved = exact + BEYOND * (value.astype(np.float64) - exact)
    return np.where(np.isfinite(moved), moved, value)


def conv_transpose(attribute, x, w, bias=None):
    """x [N,C,D...], w [C,M/group,K...]: every element of x adds its kernel to the result."""
    sides, kernel = x.shape[2:], w.shape[2:]
    of = lambda name, fallback: attribute.get(name, [fallback] * len(sides))
    group, strides, dilations, extra = attribute.get("group", 1), of("strides", 1), of("dilations", 1), of("output_padding", 0)
    pads = attribute.get("pads", [0] * 2 * len(sides))
    whole = [(d - 1) * s + (k - 1) * t + 1 + e for d, s, k, t, e in zip(sides, strides, kernel, dilations, extra)]
    y = np.zeros((x.shape[0], group, w.shape[1], *whole), x.dtype)
    parts = x.reshape(x.shape[0], group, -1, *sides)
    for at in itertools.product(*map(range, kernel)):
        taps = w[(slice(None), slice(None), *at)].reshape(group, -1, w.shape[1])
        there = tuple(slice(i * t, i * t + (d - 1) * s + 1, s) for i, t, d, s in zip(at, dilations, sides, strides))
        y[(slice(None),) * 3 + there] += np.einsum("ngc...,gcm->ngm...", parts, taps)
    y = y.reshape(x.shape[0], -1, *whole)
    y = y[(slice(None),) * 2 + tuple(slice(a, d - b) for a, b, d in zip(pads, pads[len(sides):], whole))]
    return y if bias is None else y + bias.reshape(-1, *[1] * len(sides))


def average_pool(attribute, x):
    """x [N,C,D...]. A window that begins inside of the padded data counts, however far it reaches with ceil_mode."""
    sides, kernel = x.shape[2:], attribute["kernel_shape"]
    of = lambda name: attribute.get(name, [1] * len(sides))
    strides, dilations = of("strides"), of("dilations")
    pads = attribute.get("pads", [0] * 2 * len(sides))
    before, after = pads[:len(sides)], pads[len(sides):]
    padded = [d + b + a for d, b, a in zip(sides, before, after)]
    counts, reach = [], []
    for p, d, b, k, s, t in zip(padded, sides, before, kernel, strides, dilations):
        room = p - (k - 1) * t - 1
        count = (-(-room // s) if attribute.get("ceil_mode", 0) else room // s) + 1
        counts.append(count - (1 if (count - 1) * s >= d + b else 0))
        reach.append((counts[-1] - 1) * s + (k - 1) * t + 1)
    wide = [(0, 0)] * 2 + [(b, max(0, r - d - b)) for b, r, d in zip(before, reach, sides)]
    data = np.pad(x, wide)
    inside = np.zeros(data.shape[2:])
    whole = attribute.get("count_include_pad", 0)
    inside[tuple(slice(0, p) if whole else slice(b, b + d) for p, b, d in zip(padded, before, sides))] = 1
    total, size = 0, 0
    for at in itertools.product(*map(range, kernel)):
        there = tuple(slice(i * t, i * t + (c - 1) * s + 1, s) for i, t, c, s in zip(at, dilations, counts, strides))
        total, size = total + data[(slice(None),) * 2 + there], size + inside[there]
    return total / size


def from_the_first(attribute, values):
    """Operands of a Resize by pytorch_half_pixel, for the evaluator. Where one element is made along an axis,
    its place is 0 by the definition, and the evaluator takes -0.5."""
    values = list(values)
    lengths = len(values) > 3 and values[3] is not None and values[3].size > 0
    which = 3 if lengths else 2
    values[which] = values[which].copy()
    for k, axis in enumerate(attribute.get("axes", range(values[0].ndim))):
        made = values[which][k] if lengths else math.floor(values[0].shape[axis] * values[which][k])
        if made == 1:
            values[0] = values[0].take([0], axis)
            values[which][k] = 1
    return values


def gelu(x, approximate):
    """x times the normal distribution's function of x, or its approximation by tanh."""
    if approximate in (b"tanh", "tanh"):
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    erf = np.array([math.erf(v / math.sqrt(2)) for v in np.ravel(x)]).reshape(np.shape(x))
    return 0.5 * x * (1 + erf)


def mean_variance(x, axes):
    """(x less its mean, its deviation) over `axes`."""
    centered = x - x.mean(axes, keepdims=True)
    return centered, np.sqrt((centered ** 2).mean(axes, keepdims=True))


class Judge:
    def __init__(self, model, tracks=20):
        self.model, self.tracks = model, tracks
        self.opsets = {o.domain: o.version for o in model.opset_import}
        self.single = {}
        self.deviations = {}  # of what MeanVarianceNormalization takes, in the exact evaluation

    def _evaluate(self, node, operands):
        """One node, as the format's own evaluator does it."""
        if node.op_type == "GridSample":  # it knows the names of set 20 only
            node = onnx.NodeProto.FromString(node.SerializeToString())
            for mode in (x for x in node.attribute if x.name == "mode"):
                mode.s = {b"bilinear": b"linear", b"bicubic": b"cubic"}.get(mode.s, mode.s)
        if node.output[0] not in self.single:
            self.single[node.output[0]] = ReferenceEvaluator(node, opsets=self.opsets)
        feeds = {n: a for n, a in zip(node.input, operands) if n}
        try:
            return self.single[node.output[0]].run(None, feeds)
        except Exception:  # operators that are functions of the format have float32 constants inside
            narrow = {n: a.astype(np.float32) if a.dtype == np.float64 else a for n, a in feeds.items()}
            return [np.asarray(r).astype(np.float64) if np.asarray(r).dtype == np.float32 else r
                    for r in self.single[node.output[0]].run(None, narrow)]

    def _plain(self, node, attribute, values):
        """As `_evaluate`, where that evaluator does not do what an older set says, or fails."""
        op, x = node.op_type, values[0]
        if (node.domain, op) in DEFINED:
            return [r for r in DEFINED[node.domain, op](attribute, *values)[:len(node.output)]]
        if op in ("FusedConv", "NhwcMaxPool"):
            return [self._runtime_window(op, attribute, values)]
        if op in ("Softmax", "LogSoftmax", "Hardmax") and self.opsets[""] < 13:
            axis = attribute.get("axis", 1) % max(1, x.ndim)
            flat = x.reshape(int(np.prod(x.shape[:axis], dtype=np.int64)), -1)
            e = flat - flat.max(1, keepdims=True)
            if op == "Hardmax":
                return [(np.arange(flat.shape[1]) == flat.argmax(1)[:, None]).astype(x.dtype).reshape(x.shape)]
            total = np.exp(e).sum(1, keepdims=True)
            return [(np.exp(e) / total if op == "Softmax" else e - np.log(total)).reshape(x.shape)]
        if op == "Pad" and len(values) > 1 and values[1].min(initial=0) < 0:
            before, after = values[1][:x.ndim], values[1][x.ndim:]
            x = x[tuple(slice(max(0, -int(b)), d - max(0, -int(e))) for d, b, e in zip(x.shape, before, after))]
            value = float(values[2]) if len(values) > 2 and values[2] is not None else 0.0
            return [np.pad(x, [(max(0, int(b)), max(0, int(e))) for b, e in zip(before, after)], constant_values=value)]
        if op == "Resize" and attribute.get("coordinate_transformation_mode") == b"pytorch_half_pixel":
            values = from_the_first(attribute, values)
        if op == "GlobalMaxPool":  # it takes two dimensions for spatial ones, whatever the rank
            return [x.max(tuple(range(2, x.ndim)), keepdims=True)]
        if op == "Gelu":
            return [gelu(x, attribute.get("approximate", "none"))]
        if op == "Celu":
            alpha = attribute.get("alpha", 1.0)
            return [np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(np.minimum(x, 0) / alpha))]
        if op == "MeanVarianceNormalization":
            centered, deviation = mean_variance(x, tuple(attribute.get("axes", (0, 2, 3))))
            return [centered / (deviation + 1e-9)]
        if op == "Mean":
            return [sum(values) / len(values)]
        if op == "LpNormalization":
            axis, p = attribute.get("axis", -1), attribute.get("p", 2)
            norm = (np.abs(x) ** p).sum(axis, keepdims=True) ** (1.0 / p)
            return [np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)]
        if op == "GlobalLpPool":
            p = attribute.get("p", 2)
            return [(np.abs(x) ** p).sum(tuple(range(2, x.ndim)), keepdims=True) ** (1.0 / p)]
        if op == "AveragePool" and attribute.get("auto_pad", b"NOTSET") in (b"NOTSET", "NOTSET"):
            return [average_pool(attribute, x)]  # with ceil_mode the evaluator moves the windows
        if op == "ConvTranspose" and attribute.get("auto_pad", b"NOTSET") in (b"NOTSET", "NOTSET"):
            return [conv_transpose(attribute, *values)]
        if op == "GroupNormalization":
            groups = attribute["num_groups"]
            y = x.reshape(x.shape[0], groups, -1)
            y = (y - y.mean(2, keepdims=True)) / np.sqrt(y.var(2, keepdims=True) + attribute.get("epsilon", 1e-5))
            shape = (1, -1) + (1,) * (x.ndim - 2)
            return [y.reshape(x.shape) * values[1].reshape(shape) + values[2].reshape(shape)]
        if op == "LRN":
            size = attribute["size"]
            before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
            squares = np.stack([(x[:, max(0, c - before):c + after + 1] ** 2).sum(1) for c in range(x.shape[1])], 1)
            scale = attribute.get("bias", 1.0) + attribute.get("alpha", 1e-4) / size * squares
            return [x / scale ** attribute.get("beta", 0.75)]
        return self._evaluate(node, values)

    def _runtime_window(self, op, attribute, values):
        made = {k: v for k, v in attribute.items() if not k.startswith("activation")}
        if op == "NhwcMaxPool":
            plain = helper.make_node("MaxPool", ["x"], [f"max_pool{sorted(made.items())}"], **made)
            return np.moveaxis(self._evaluate(plain, [np.moveaxis(values[0].astype(np.float64), 3, 1)])[0], 1, 3).astype(values[0].dtype)
        operands = [v for v in values[:3] if v is not None]
        plain = helper.make_node("Conv", ["x", "w", "b"][:len(operands)], [f"conv{len(operands)}{sorted(made.items())}"], **made)
        y = np.asarray(self._evaluate(plain, operands)[0])
        y = y + values[3] if len(values) > 3 and values[3] is not None else y
        name, numbers = attribute["activation"].decode(), attribute.get("activation_params", [])
        return np.clip(y, *numbers) if name == "Clip" else function(name, *numbers)(y)

    def _node(self, node, a, noise):
        attribute = {x.name: helper.get_attribute_value(x) for x in node.attribute}
        op, axis = node.op_type, attribute.get("axis", 1)
        wrong = lambda y, m: noise(y, m)  # an error of the size of float32's
        as_float = lambda x: x.astype(np.float64) if x.dtype.kind == "f" else x
        if op == "QuantizeLinear":
            return [quantized(wrong(a[0], np.abs(a[0])), a[1], a[2], axis)]
        if op == "DequantizeLinear":
            return [real(a[0], a[1], a[2] if len(a) > 2 else None, axis)]
        if op == "DynamicQuantizeLinear":
            x = a[0].astype(np.float64)
            low, high = min(0.0, x.min()), max(0.0, x.max())
            scale = (high - low) / 255 or 1.0
            zero = np.clip(np.rint(-low / scale), 0, 255).astype(np.uint8)
            return [quantized(wrong(x, np.abs(x)), scale, zero), np.float64(scale), zero]
        if op.startswith("QLinear") or op == "QGemm":
            return [self._q_operator(node, op, attribute, a, wrong)]
        values = [np.asarray(as_float(v)) if v is not None else None for v in a]
        if op == "Cast" and attribute["to"] in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE):
            return [values[0].astype(np.float64)]
        results = [None if r is None else np.asarray(r) for r in self._plain(node, attribute, values)]
        if op in MOVES or results[0].dtype.kind != "f":
            return results
        if (node.domain, op) in DEFINED or op == "FusedConv":
            # What a number of 8 bits is rounded to decides more than float32 does.
            step = 1 / 255 / EPS / 4 if op.startswith("DynamicQuantize") else 0
            if op in ("Attention", "MultiHeadAttention"):  # scores of a row that may look at nothing lose their digits
                step = abs(attribute.get("mask_filter_value", -10000.0)) / 4
            return [r if r is None or r.dtype.kind != "f" else
                    wrong(r, 8 * (np.abs(r) + np.abs(r).max(initial=0) * (1 + step)) + 4) for r in results]
        magnitude = np.abs(results[0])
        if op in SUMS:
            op_values = [np.abs(v) if v is not None and v.dtype.kind == "f" else v for v in values]
            if op == "Sub":
                magnitude = op_values[0] + op_values[1]
            elif op not in ("Resize", "GridSample"):
                magnitude = np.abs(np.asarray(self._plain(node, attribute, op_values)[0]))
            else:
                magnitude = np.full_like(magnitude, np.abs(values[0]).max(initial=0)) * 8
        elif op == "MeanVarianceNormalization":
            # The error of a difference from the mean is that of an operand, which the division raises; but no
            # element of n is further from their mean than sqrt(n) of their deviations.
            axes = tuple(attribute.get("axes", (0, 2, 3)))
            _, deviation = mean_variance(values[0], axes)
            # Of the exact evaluation if that is less: in the others, the disturbance itself deviates.
            deviation = np.minimum(deviation, self.deviations.setdefault(node.output[0], deviation))
            raised = np.abs(values[0]).max(axes, keepdims=True) / (deviation + 1e-9)
            furthest = math.sqrt(values[0].size / max(1, deviation.size))
            return [wrong(results[0], np.minimum(4 * (magnitude + raised), furthest / EPS))]
        elif op in ("Elu", "Selu", "Celu"):  # below zero they are defined as a difference, exp(x) - 1
            unit = attribute.get("alpha", 1.67326319 if op == "Selu" else 1.0) * attribute.get("gamma", 1.05070102 if op == "Selu" else 1.0)
            magnitude = magnitude + np.where(values[0] < 0, abs(unit), 0)
        elif op in ("Gelu", "Mish"):  # x * (1 + erf), which cancels below zero; x * tanh(log(1 + exp(x)))
            magnitude = magnitude + np.abs(values[0])
        elif op == "Softplus":  # log(1 + exp(x))
            magnitude = magnitude + 1
        elif op in WHOLE:
            magnitude = magnitude + np.abs(results[0]).max(initial=0)
            if op in ("InstanceNormalization", "GroupNormalization", "LayerNormalization"):
                x = values[0]
                spread = x.std() or 1.0
                magnitude = magnitude * (1 + min(np.abs(x).max(initial=0) / spread, 1e4))
        elif op in ("Softmax", "LogSoftmax", "Exp", "ReduceLogSumExp", "Erf", "Sin", "Cos", "Log", "Pow", "Tan", "Asin", "Acos", "Atanh", "Acosh"):
            magnitude = magnitude * (1 + np.abs(values[0]).max(initial=0)) + (1e-1 if op in ("Sin", "Cos", "Log", "LogSoftmax") else 0)
        results[0] = wrong(results[0], 4 * magnitude)
        return results

    def _q_operator(self, node, op, attribute, a, wrong):
        ndim = lambda k: a[k].ndim
        if op == "QLinearConv":
            x, w = real(a[0], a[1], a[2]), real(a[3], a[4], a[5], 0)
            operands, y = [x, w], (a[6], a[7])
            if len(a) > 8 and a[8] is not None:
                operands.append(a[8].astype(np.float64) * np.float64(a[1]) * a[4].astype(np.float64))
            inner, made = "Conv", {k: v for k, v in attribute.items()}
        elif op == "QLinearMatMul":
            x, w = real(a[0], a[1], a[2]), real(a[3], a[4], a[5], ndim(3) - 1)
            operands, y, inner, made = [x, w], (a[6], a[7]), "MatMul", {}
        elif op == "QGemm":
            x, w = real(a[0], a[1], a[2]), real(a[3], a[4], a[5], 0 if attribute.get("transB", 0) else 1)
            operands, inner = [x, w], "Gemm"
            if a[6] is not None:
                operands.append(a[6].astype(np.float64) * np.float64(a[1]) * a[4].astype(np.float64) * attribute.get("alpha", 1.0))
            y, made = ((a[7], a[8]) if len(a) > 7 and a[7] is not None else None), {k: v for k, v in attribute.items()}
        elif op in ("QLinearAdd", "QLinearMul"):
            operands, y, inner, made = [real(a[0], a[1], a[2]), real(a[3], a[4], a[5])], (a[6], a[7]), op[7:], {}
        elif op == "QLinearConcat":
            operands = [real(a[i], a[i + 1], a[i + 2]) for i in range(2, len(a), 3)]
            y, inner, made = (a[0], a[1]), "Concat", attribute
        elif op in ("QLinearSigmoid", "QLinearLeakyRelu"):
            operands, y, inner, made = [real(a[0], a[1], a[2])], (a[3], a[4]), op[7:], attribute
        elif op == "QLinearSoftmax":
            operands, y, inner, made = [real(a[0], a[1], a[2])], (a[3], a[4]), "Softmax", {"axis": attribute.get("axis", -1)}
        elif op in ("QLinearGlobalAveragePool", "QLinearAveragePool"):
            if attribute.get("channels_last", 0):
                raise NotImplementedError("channels_last")
            made = {k: v for k, v in attribute.items() if k != "channels_last"}
            operands, y, inner = [real(a[0], a[1], a[2])], (a[3], a[4]), op[7:]
        else:
            raise NotImplementedError(op)
        plain = helper.make_node(inner, [f"i{i}" for i in range(len(operands))], [node.output[0]], **made)
        result = np.asarray(self._evaluate(plain, operands)[0])
        magnitude = np.abs(np.asarray(self._evaluate(plain, [np.abs(v) for v in operands])[0])) if inner != "Softmax" else result
        result = wrong(result, 4 * magnitude)
        return result if y is None else quantized(result, y[0], y[1])

    def spans(self, feeds):
        """Lowest, exact and highest result of every output."""
        base = {i.name: numpy_helper.to_array(i) for i in self.model.graph.initializer}
        base.update(feeds)
        all_results, exact = [], {}
        for track in range(self.tracks + 1):
            rng = np.random.default_rng(track)
            noise = (lambda y, m: y) if track == 0 else (
                lambda y, m: y + (EPS * m + LEAST * (m != 0)) * rng.uniform(-1, 1, np.shape(y)))
            values = dict(base)
            for node in self.model.graph.node:
                operands = [values[n] if n else None for n in node.input]
                if track > 0 and has_steps(node):
                    operands = [further(v, exact.get(n)) for n, v in zip(node.input, operands)]
                for name, result in zip(node.output, self._node(node, operands, noise)):
                    values[name] = result
            exact = exact or values
            all_results.append([np.asarray(values[o.name]) for o in self.model.graph.output])
        spans = []
        for results in zip(*all_results):
            stack = np.stack([r.astype(np.float64) for r in results])
            spans.append((stack.min(0), stack[0], stack.max(0)))
        return spans

    @staticmethod
    def refuses(span, value, whole):
        """Elements that no right program answers: a mask."""
        low, exact, high = span
        v = value.astype(np.float64)
        spread = high - low
        slack = spread if whole else 8 * spread + 2 * EPS * np.abs(exact) + 1e-30
        with np.errstate(invalid="ignore"):
            bad = ~((v >= low - slack) & (v <= high + slack))
        return bad & ~(np.isnan(v) & np.isnan(exact)) & ~(v == exact)
