"""open_lengths.py MODEL LIBRARY NAME DIMENSION LENGTHS [SECONDS]: a library for a range of lengths against ONNX Runtime.

MODEL has the open dimension DIMENSION (bench/peers/encoder.py with seq:512), LIBRARY was compiled from it
as `NAME` for a range of lengths. LENGTHS: 5,64,300. One thread each; runs alternate. Prints for each length
the fastest run of both in microseconds of the processor, the median of the ratios of neighbouring runs, and the
largest difference of an output relative to its largest element."""
import ctypes
import statistics
import sys
import time

import numpy as np
import onnxruntime

model, library, name, dimension, lengths = sys.argv[1:6]
seconds = float(sys.argv[6]) if len(sys.argv) > 6 else 2
code = ctypes.CDLL(library)
run, set_size = getattr(code, name + "_run"), getattr(code, name + "_set_size")
run.argtypes = [ctypes.POINTER(ctypes.c_void_p)] * 2
set_size.argtypes = [ctypes.c_char_p, ctypes.c_int64]
assert getattr(code, name + "_set_threads")(1) == 0
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
random = np.random.default_rng(1)


def timed(call):
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])


print("length,open_us,onnxruntime_us,ratio,difference")
logs = []
for length in (int(text) for text in lengths.split(",")):
    feed = {}
    for value in session.get_inputs():
        shape = [length if size == dimension else size for size in value.shape]
        whole = value.type == "tensor(int64)"
        feed[value.name] = random.integers(0, 100, shape) if whole else np.ones(shape, np.float32)
    expected = session.run(None, feed)
    made = [np.empty_like(value) for value in expected]
    inputs, outputs = pointers(list(feed.values())), pointers(made)
    assert set_size(dimension.encode(), length) == 0
    pairs, end = [], time.process_time() + seconds
    while len(pairs) < 5 or time.process_time() < end:
        ours, status = timed(lambda: run(inputs, outputs))
        theirs, expected = timed(lambda: session.run(None, feed))
        assert status == 0
        pairs.append((ours, theirs))
    ratio = statistics.median(a / b for a, b in pairs)
    logs.append(np.log(ratio))
    error = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(made, expected))
    print(f"{length},{1e6 * min(pairs)[0]:.1f},{1e6 * min(b for _, b in pairs):.1f},{ratio:.3f},{error:.1e}", flush=True)
print(f"geometric mean {np.exp(np.mean(logs)):.3f}, {len(logs)} lengths")
