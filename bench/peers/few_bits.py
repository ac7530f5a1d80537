"""few_bits.py WORK PROGRAM [--threads N] [--seconds S] [--only TEXT] [--bits B] [--block B] [--zero-points]: products of weights
of few bits in blocks (MatMulNBits), by Tilewright (default configs, no records) and ONNX Runtime (all optimizations), in turns in one
process; and, in the same turns, two loops in C with the target's vectors: one that reads as many bytes as the weight, its scales and
its zero points have, and one of multiply-adds in registers (float32, or dot products of bytes at accuracy_level 4). Prints us per run
(the least of all runs), our time over ONNX Runtime's, and the rates that we reach of both loops'.
Needs numpy, onnx, onnxruntime and a C compiler."""
import argparse
import ctypes
import os
import subprocess
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from library import Library, aligned

LOOPS = r"""
#include <immintrin.h>
#include <stdint.h>
int64_t read_bytes(const char* p, int64_t n) {
  __m512i s[8];
  for (int i = 0; i < 8; ++i) s[i] = _mm512_setzero_si512();
  for (int64_t at = 0; at + 512 <= n; at += 512)
    for (int i = 0; i < 8; ++i) s[i] = _mm512_xor_si512(s[i], _mm512_load_si512(p + at + 64 * i));
  for (int i = 1; i < 8; ++i) s[0] = _mm512_xor_si512(s[0], s[i]);
  return _mm512_reduce_add_epi64(s[0]);
}
float float_products(int64_t n) {
  __m512 s[16], a = _mm512_set1_ps(1.0f), b = _mm512_set1_ps(1e-9f);
  for (int i = 0; i < 16; ++i) s[i] = _mm512_setzero_ps();
  for (int64_t at = 0; at < n; at += 256) {
    for (int i = 0; i < 16; ++i) s[i] = _mm512_fmadd_ps(a, b, s[i]);
    __asm__ volatile("" : "+v"(a), "+v"(b));
  }
  for (int i = 1; i < 16; ++i) s[0] = _mm512_add_ps(s[0], s[i]);
  return _mm512_reduce_add_ps(s[0]);
}
int byte_products(int64_t n) {
  __m512i s[16], a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(2);
  for (int i = 0; i < 16; ++i) s[i] = _mm512_setzero_si512();
  for (int64_t at = 0; at < n; at += 1024) {
    for (int i = 0; i < 16; ++i) s[i] = _mm512_dpbusd_epi32(s[i], a, b);
    __asm__ volatile("" : "+v"(a), "+v"(b));
  }
  for (int i = 1; i < 16; ++i) s[0] = _mm512_add_epi32(s[0], s[i]);
  return _mm512_reduce_add_epi32(s[0]);
}
"""


def loops(work):
    source, path = os.path.join(work, "loops.c"), os.path.join(work, "loops.so")
    with open(source, "w") as file:
        file.write(LOOPS)
    subprocess.run(["cc", "-O3", "-funroll-loops", "-march=native", "-shared", "-fPIC", source, "-o", path], check=True)
    return ctypes.CDLL(path)


def save(path, m, k, n, bits, block, level, zero_points):
    rng = np.random.default_rng(k * n)
    blocks = k // block
    constants = {"b": rng.integers(0, 256, (n, blocks, block * bits // 8), dtype=np.uint8),
                 "s": (rng.random((n, blocks), dtype=np.float32) + 0.5) * 0.01}
    if zero_points:
        constants["z"] = rng.integers(0, 256, (n, (blocks * bits + 7) // 8), dtype=np.uint8)
    node = helper.make_node("MatMulNBits", ["x", *constants], ["y"], domain="com.microsoft", K=k, N=n, bits=bits, block_size=block,
                            accuracy_level=level)
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "case", [value("x", [m, k])], [value("y", [m, n])],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return sum(array.nbytes for name, array in constants.items() if name != "z") + (n * blocks if zero_points else 0)


def least(functions, seconds):
    """The least time of each function; all are called in turn."""
    best = [float("inf")] * len(functions)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, function in enumerate(functions):
            function()  # what the others left in caches is not ours
            begin = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--bits", type=int, default=4)
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--zero-points", action="store_true")
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 16, 128, 512])
    parser.add_argument("--levels", type=int, nargs="*", default=[0, 1, 4])
    parser.add_argument("--records", default="")
    a = parser.parse_args()
    os.makedirs(a.work, exist_ok=True)
    c = loops(a.work)
    c.read_bytes.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    for name in ("float_products", "byte_products"):
        getattr(c, name).argtypes = [ctypes.c_int64]
    print(f"ONNX Runtime {onnxruntime.__version__}, threads: {a.threads}, bits: {a.bits}, block: {a.block}, "
          f"zero points: {'integers' if a.zero_points else 'none'}")
    print(f"{'rows x K x N, level':26}{'tilewright':>12}{'onnxruntime':>12}{'/ onnxrt':>10}{'GMAC/s':>9}{'of read':>9}{'of madd':>9}{'error':>10}")
    for m in a.rows:
        for k, n in ((576, 576), (1536, 576), (576, 1536), (2048, 2048), (4096, 4096)):
            for level in a.levels:
                name = f"{m}x{k}x{n}, {level}"
                if not name.startswith(a.only):
                    continue
                stem = os.path.join(a.work, f"{m}x{k}x{n}-{level}-{a.bits}-{a.block}-{int(a.zero_points)}")
                weight_bytes = save(stem + ".onnx", m, k, n, a.bits, a.block, level, a.zero_points)
                records = ["--records", a.records] if a.records else []
                subprocess.run([a.program, "compile", stem + ".onnx", "--no-packages", "--threads", str(a.threads), "--name", "net", "-o",
                                stem + ".so", *records], check=True, capture_output=True,
                               env={**os.environ, "XDG_DATA_HOME": os.path.join(a.work, "none")})
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads, options.inter_op_num_threads = a.threads, 1
                session = onnxruntime.InferenceSession(stem + ".onnx", options, providers=["CPUExecutionProvider"])
                x = np.random.default_rng(1).standard_normal((m, k), dtype=np.float32)
                run, outputs = Library(stem + ".so", a.threads).prepared({"x": x})
                binding = session.io_binding()
                binding.bind_cpu_input("x", x)
                binding.bind_output("y")
                peer = lambda: session.run_with_iobinding(binding)
                run(), peer()
                expected = binding.copy_outputs_to_cpu()[0].astype(np.float64)
                error = np.max(np.abs(outputs[0] - expected)) / np.sqrt(np.mean(expected**2))
                memory = aligned((weight_bytes,), np.uint8)
                macs = m * k * n
                products = c.byte_products if level == 4 else c.float_products
                short = min(macs, 1 << 24)  # the loop's rate does not depend on its length
                times = least([run, peer, lambda: c.read_bytes(memory.ctypes.data, weight_bytes), lambda: products(short)], a.seconds)
                ours, theirs, read, madd = times
                print(f"{name:26}{1e6 * ours:12.1f}{1e6 * theirs:12.1f}{ours / theirs:10.2f}{macs / ours / 1e9:9.1f}{read / ours:9.2f}"
                      f"{madd * macs / short / ours:9.2f}{error:10.1e}", flush=True)


main()
