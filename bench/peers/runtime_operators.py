"""What operators of ONNX Runtime's domain, and recurrent ones, compute, in NumPy: the judge's definitions.

Each takes a node's attributes and its operands (None where an optional one is absent) and returns its results."""
import math

import numpy as np


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(x, -700, 700)))


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


FUNCTIONS = {  # name: (function of x, alpha, beta; defaults)
    "relu": (lambda x, a, b: np.maximum(x, 0), ()),
    "tanh": (lambda x, a, b: np.tanh(x), ()),
    "sigmoid": (lambda x, a, b: sigmoid(x), ()),
    "affine": (lambda x, a, b: a * x + b, (1.0, 0.0)),
    "leakyrelu": (lambda x, a, b: np.where(x < 0, a * x, x), (0.01,)),
    "thresholdedrelu": (lambda x, a, b: np.where(x > a, x, 0), (1.0,)),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), (1.0, 1.0)),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), (0.2, 0.5)),
    "elu": (lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x), (1.0,)),
    "softsign": (lambda x, a, b: x / (1 + np.abs(x)), ()),
    "softplus": (lambda x, a, b: np.logaddexp(x, 0), ()),
}


def function(name, alpha=None, beta=None):
    f, defaults = FUNCTIONS[text(name).lower()]
    a, b = (list(defaults) + [0.0, 0.0])[:2]
    return lambda x: f(x, a if alpha is None else alpha, b if beta is None else beta)


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def layer_norm(x, gamma, beta, epsilon):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * gamma
    return y if beta is None else y + beta


def rms_norm(x, gamma, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gamma


def skip_layer_normalization(at, x, skip, gamma, beta=None, bias=None):
    s = x + skip + (0 if bias is None else bias)
    return [layer_norm(s, gamma, beta, at.get("epsilon", 1e-12)), None, None, s]


def skip_rms_normalization(at, x, skip, gamma, bias=None):
    s = x + skip + (0 if bias is None else bias)
    return [rms_norm(s, gamma, at.get("epsilon", 1e-12)), None, None, s]


def embedding(at, ids, segments, words, places, kinds, gamma, beta, mask=None, positions=None):
    s = words[ids] + (places[:ids.shape[1]] if positions is None else places[positions])
    if segments is not None:
        s = s + kinds[segments]
    counts = np.zeros(ids.shape[0], np.int32) if mask is None else (mask == 1).sum(1).astype(np.int32)
    return [layer_norm(s, gamma, beta, at.get("epsilon", 1e-12)), counts, s]


def fused_matmul(at, a, b):
    def turned(x, side):
        if x.ndim > 1 and at.get("transBatch" + side, 0):
            x = np.moveaxis(x, 0, -2)
        return np.swapaxes(x, -1, -2) if x.ndim > 1 and at.get("trans" + side, 0) else x
    return [at.get("alpha", 1.0) * (turned(a, "A") @ turned(b, "B"))]


def fused_gemm(at, a, b, c=None):
    y = at.get("alpha", 1.0) * ((a.T if at.get("transA", 0) else a) @ (b.T if at.get("transB", 0) else b))
    y = y if c is None else y + at.get("beta", 1.0) * c
    return [function(at["activation"], at.get("activation_alpha"), at.get("activation_beta"))(y)]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def masked(at, mask, shape):
    b, _, q, k = shape
    if mask is None:
        return 0
    if mask.ndim == 1:
        seen = np.arange(k)[None] < mask[:b, None]
        if mask.size == 2 * b:
            seen &= np.arange(k)[None] >= mask[b:, None]
    else:
        seen = mask > 0
    return np.where(seen, 0.0, at.get("mask_filter_value", -10000.0)).reshape(b, 1, -1, k)


def attend(at, q, k, v, mask, bias):
    scale = at.get("scale", 0.0) or 1 / math.sqrt(q.shape[-1])
    s = scale * (q @ np.swapaxes(k, -1, -2))
    s = s + masked(at, mask, s.shape)
    if at.get("unidirectional", 0):
        later = np.arange(k.shape[2])[None] > np.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]
        s = np.where(later, -np.inf, s)
    y = softmax(s if bias is None else s + bias) @ v
    return np.swapaxes(y, 1, 2).reshape(q.shape[0], q.shape[2], -1)


def apart(x, heads):
    return np.swapaxes(x.reshape(*x.shape[:2], heads, -1), 1, 2)


def attention(at, x, w, bias=None, mask=None, past=None, score_bias=None):
    heads, third = at["num_heads"], w.shape[1] // 3
    sizes = at.get("qkv_hidden_sizes", [third] * 3)
    y = x @ w + (0 if bias is None else bias)
    q, k, v = (apart(p, heads) for p in np.split(y, [sizes[0], sizes[0] + sizes[1]], -1))
    if past is not None:
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    return [attend(at, q, k, v, mask, score_bias), np.stack([k, v]) if k.shape == v.shape else None]


def multi_head_attention(at, q, k=None, v=None, bias=None, mask=None, score_bias=None, past_k=None, past_v=None):
    heads = at["num_heads"]
    if q.ndim == 5:
        q, k, v = (np.swapaxes(q[:, :, :, i], 1, 2) for i in range(3))
    else:
        n = q.shape[2]
        parts = (0, 0, 0) if bias is None else (bias[:n], bias[n:2 * n], bias[2 * n:])
        q = apart(q + parts[0], heads)
        if k.ndim == 5:
            k, v = (np.swapaxes(k[:, :, :, i], 1, 2) for i in range(2))
        elif k.ndim == 3:
            k, v = apart(k + parts[1], heads), apart(v + parts[2], heads)
    if past_k is not None:
        k, v = np.concatenate([past_k, k], 2), np.concatenate([past_v, v], 2)
    return [attend(at, q, k, v, mask, score_bias), k, v]


def dynamically(x):
    """x as numbers of 8 bits, and back."""
    low, high = min(0.0, x.min()), max(0.0, x.max())
    scale = (high - low) / 255 or 1.0
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return (np.clip(np.rint(x / scale) + zero, 0, 255) - zero) * scale


def real_weight(w, scale, zero):
    return (w.astype(np.float64) - (0 if zero is None else zero.astype(np.float64))) * scale


def integer_to_float(at, a, b, sa, sb, za=None, zb=None, bias=None):
    y = real_weight(a, sa, za) @ real_weight(b, sb, zb)
    return [y if bias is None else y + bias]


def dynamic_matmul(at, a, b, sb, zb=None, bias=None):
    y = dynamically(a) @ real_weight(b, sb, zb)
    return [y if bias is None else y + bias]


def recurrent(kind, at, x, w, r, b=None, lengths=None, h0=None, c0=None, p=None, product=np.matmul):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    if at.get("layout", 0):
        x = np.swapaxes(x, 0, 1)
        h0, c0 = (None if s is None else np.swapaxes(s, 0, 1) for s in (h0, c0))
    steps, batch, _ = x.shape
    directions, hidden = w.shape[0], r.shape[2]
    each = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[kind]
    names = at.get("activations", each * directions)
    alphas, betas, functions = iter(at.get("activation_alpha", [])), iter(at.get("activation_beta", [])), []
    for name in names:
        takes = len(FUNCTIONS[text(name).lower()][1])
        functions.append(function(name, next(alphas, None) if takes > 0 else None, next(betas, None) if takes > 1 else None))
    clip = at.get("clip", 0.0) or np.inf
    direction = text(at.get("direction", "forward"))
    y, last_h, last_c = np.zeros((steps, directions, batch, hidden)), [], []
    for d in range(directions):
        f, g, h_function = [lambda v, u=u: u(np.clip(v, -clip, clip)) for u in (functions[d * len(each):(d + 1) * len(each)] + [np.tanh] * 3)[:3]]
        wb, rb = (np.zeros(gates * hidden),) * 2 if b is None else np.split(b[d], 2)
        h = np.zeros((batch, hidden)) if h0 is None else h0[d]
        c = np.zeros((batch, hidden)) if c0 is None else c0[d]
        pi, po, pf = (0, 0, 0) if p is None else np.split(p[d], 3)
        data = product(x.reshape(steps * batch, -1), w[d].T).reshape(steps, batch, -1) + wb
        for t in (range(steps - 1, -1, -1) if d == 1 or direction == "reverse" else range(steps)):
            parts = lambda v: np.split(v, gates, -1)
            before, cell = h, c
            if kind == "RNN":
                h = f(data[t] + product(h, r[d].T) + rb)
            elif kind == "GRU":
                xz, xr, xh = parts(data[t])
                bz, br, bh = np.split(rb, 3)
                rz, rr, rh = np.split(r[d], 3)
                z, reset = f(xz + h @ rz.T + bz), f(xr + h @ rr.T + br)
                inner = reset * (h @ rh.T + bh) if at.get("linear_before_reset", 0) else (reset * h) @ rh.T + bh
                h = (1 - z) * g(xh + inner) + z * h
            else:
                i, o, forget, fresh = parts(data[t] + product(h, r[d].T) + rb)
                i = f(i + pi * c)
                forget = 1 - i if at.get("input_forget", 0) else f(forget + pf * c)
                c = forget * c + i * g(fresh)
                h = f(o + po * c) * h_function(c)
            on = np.full((batch, 1), True) if lengths is None else (t < lengths)[:, None]
            y[t, d] = np.where(on, h, 0)
            h, c = np.where(on, h, before), np.where(on, c, cell)
        last_h.append(h), last_c.append(c)
    last_h, last_c = np.stack(last_h), np.stack(last_c)
    if at.get("layout", 0):
        y, last_h, last_c = y.transpose(2, 0, 1, 3), np.swapaxes(last_h, 0, 1), np.swapaxes(last_c, 0, 1)
    return [y, last_h, last_c][:3 if kind == "LSTM" else 2]


def dynamic_lstm(at, x, w, r, b, lengths, h0, c0, p, ws, wz, rs, rz):
    of = lambda v, s, z: np.stack([real_weight(v[d], s[d], z[d]) for d in range(len(v))]).transpose(0, 2, 1)
    return recurrent("LSTM", at, x, of(w, ws, wz), of(r, rs, rz), b, lengths, h0, c0, p, lambda a, m: dynamically(a) @ m)


def bias_or_0(b):
    return 0 if b is None else b


DEFINED = {
    ("com.microsoft", "BiasGelu"): lambda at, x, b: [gelu(x + b)],
    ("com.microsoft", "FastGelu"): lambda at, x, b=None: [tanh_gelu(x + bias_or_0(b))],
    ("com.microsoft", "Gelu"): lambda at, x: [gelu(x)],
    ("com.microsoft", "QuickGelu"): lambda at, x: [x * sigmoid(at.get("alpha", 1.702) * x)],
    ("com.microsoft", "SkipLayerNormalization"): skip_layer_normalization,
    ("com.microsoft", "SkipSimplifiedLayerNormalization"): skip_rms_normalization,
    ("", "SimplifiedLayerNormalization"): lambda at, x, g: [rms_norm(x, g, at.get("epsilon", 1e-5))],
    ("com.microsoft", "EmbedLayerNormalization"): embedding,
    ("com.microsoft", "FusedMatMul"): fused_matmul,
    ("com.microsoft", "FusedGemm"): fused_gemm,
    ("com.microsoft", "Attention"): attention,
    ("com.microsoft", "MultiHeadAttention"): multi_head_attention,
    ("com.microsoft", "MatMulIntegerToFloat"): integer_to_float,
    ("com.microsoft", "DynamicQuantizeMatMul"): dynamic_matmul,
    ("com.microsoft", "DynamicQuantizeLSTM"): dynamic_lstm,
    ("", "RNN"): lambda at, *a: recurrent("RNN", at, *a),
    ("", "GRU"): lambda at, *a: recurrent("GRU", at, *a),
    ("", "LSTM"): lambda at, *a: recurrent("LSTM", at, *a),
}
