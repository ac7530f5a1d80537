"""Random graphs through `tilewright compile`, against ONNX Runtime, with ONNX's definitions as judge.

usage: random_graphs.py TILEWRIGHT [--count 1000] [--seed 1] [--jobs 2] [--keep FOLDER] [--only INDEX]

Graph i of a seed is always the same: float operators, quantized by ONNX Runtime's own quantizer to QDQ
or to QOperator; operator sets, targets (avx512, avx2, plain x86-64) and threads (1, 2) by turns. Every
graph is compiled and run in a process of its own. Where the two programs differ by more than a part in
10^5, both are held against the definition evaluated in float64 (judge.py). A difference is wrong if the
judge does not admit our result; what it admits of ours and not of the other's is counted as theirs. A
refusal (exit code 2) is counted by its message. Exit code 1 if anything is wrong, crashed or unnamed.
Needs numpy, onnx, onnxruntime."""
import argparse
import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # processes are forked, and two run at a time
import numpy as np
import onnx

import graph_maker

TARGETS = {"avx512": "llvm -mcpu=cascadelake", "avx2": "llvm -mcpu=core-avx2", "plain": "llvm -mcpu=x86-64"}
SETS = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24]


class Reader:
    """Feeds the quantizer the same inputs a few times."""

    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def feeds_of(model, seed):
    rng = np.random.default_rng(seed)
    scale = (1.0, 1.0, 0.1, 4.0)[seed % 4]
    return {v.name: (rng.standard_normal([d.dim_value for d in v.type.tensor_type.shape.dim]) * scale).astype(np.float32)
            for v in model.graph.input}


def quantize(model, seed, qdq, folder):
    """What ONNX Runtime's quantizer makes of a float model."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    rng = np.random.default_rng(seed)
    path, out = os.path.join(folder, "float.onnx"), os.path.join(folder, "quantized.onnx")
    onnx.save(model, path)
    reader = type("R", (Reader, CalibrationDataReader), {})([feeds_of(model, seed + i) for i in range(2)])
    activation = QuantType.QUInt8 if not qdq or rng.random() < 0.6 else QuantType.QInt8
    weight = QuantType.QInt8 if rng.random() < 0.8 or activation == QuantType.QInt8 else QuantType.QUInt8
    quantize_static(path, out, reader, quant_format=QuantFormat.QDQ if qdq else QuantFormat.QOperator,
                    per_channel=bool(rng.random() < 0.5) and weight == QuantType.QInt8, activation_type=activation,
                    weight_type=weight, extra_options={"ActivationSymmetric": bool(rng.random() < 0.3)})
    return onnx.load(out)


def model_of(index, seed, folder):
    """(model, kind) of graph `index`, or None where nothing valid came of it."""
    number = seed * 1000003 + index
    kind = ("float", "float", "qdq", "float", "qoperator", "float")[index % 6]
    opset = SETS[number % len(SETS)] if kind == "float" else 13 + number % 6
    model = graph_maker.make(number, opset, kind != "float")
    if kind != "float" and model.graph.node:
        model = quantize(model, number, kind == "qdq", folder)
    return model, kind


def theirs(model, feeds):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def differ(ours, other):
    """The elements that differ by more than rounding does."""
    if ours.dtype.kind != "f":
        return ours != other
    with np.errstate(all="ignore"):
        a, b = ours.astype(np.float64), other.astype(np.float64)
        finite = np.isfinite(b)
        rms = np.sqrt(np.mean(b[finite] ** 2)) if finite.any() else 0.0
        near = np.abs(a - b) <= 1e-5 * np.minimum(np.abs(b), rms) + 2e-6 * rms + 1e-37
        return ~np.where(finite, near, (a == b) | (np.isnan(a) & np.isnan(b)))


def compare(args, index, folder):
    """One graph: a dictionary with its result."""
    result = {"index": index}
    try:
        model, kind = model_of(index, args.seed, folder)
        if not model.graph.node:
            return {**result, "kind": kind, "what": "empty"}
        feeds = feeds_of(model, index)
        other = theirs(model, feeds)
    except Exception as error:
        return {**result, "kind": "", "what": "no graph", "why": str(error)[:400]}
    target = list(TARGETS)[index // 6 % 3]
    threads = 1 + index // 18 % 2
    result.update(kind=kind, target=target, threads=threads, operators=sorted({n.op_type for n in model.graph.node}))
    path = os.path.join(folder, "g.onnx")
    onnx.save(model, path)
    library = os.path.join(folder, "g.so")
    command = [args.tilewright, "compile", path, "--target", TARGETS[target], "--threads", str(threads), "-o", library, "--no-packages"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=20 * args.limit, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(args.limit),) * 2),
                          env={**os.environ, "XDG_DATA_HOME": os.path.join(folder, "data")})
    lines = made.stderr.strip().split("\n")
    if made.returncode == 2:
        return {**result, "what": "refused", "why": "\n".join(lines)[-400:]}
    if made.returncode != 0:
        return {**result, "what": "failed", "why": f"exit {made.returncode}: " + "\n".join(lines)[-600:]}
    import library as caller
    outputs = caller.Library(library, threads).run(feeds)
    bad_shape = [f"{a.dtype}{a.shape} and {b.dtype}{b.shape}" for a, b in zip(outputs, other) if a.shape != b.shape or a.dtype != b.dtype]
    if bad_shape:
        return {**result, "what": "wrong", "why": "shapes or types " + "; ".join(bad_shape)}
    if not any(differ(a, b).any() for a, b in zip(outputs, other)):
        return {**result, "what": "equal"}
    import judge
    why, others_wrong = [], False
    spans = judge.Judge(model).spans(feeds)
    for value, a, b, span in zip(model.graph.output, outputs, other, spans):
        different = differ(a, b)
        bad = judge.Judge.refuses(span, a, a.dtype.kind != "f") & different
        others_wrong |= bool((judge.Judge.refuses(span, b, b.dtype.kind != "f") & different).any())
        if bad.any():
            at = np.unravel_index(np.argmax(bad), bad.shape) if bad.ndim else ()
            why.append(f"{value.name} {a.dtype}{list(a.shape)}: {int(bad.sum())} of {bad.size} elements, at {[int(i) for i in at]} "
                       f"{a[at]!r}, other {b[at]!r}, defined {span[1][at]!r} in [{span[0][at]!r}, {span[2][at]!r}]")
    if why:
        return {**result, "what": "wrong", "why": "; ".join(why)[:800], "others_wrong": others_wrong}
    return {**result, "what": "theirs" if others_wrong else "rounding"}


def child(args, index, pipe):
    """Compares one graph in this process, which is given up afterwards."""
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        try:
            result = compare(args, index, folder)
        except subprocess.TimeoutExpired:
            result = {"index": index, "what": "failed", "why": "compile takes too long"}
        except Exception as error:
            result = {"index": index, "what": "error", "why": f"{type(error).__name__}: {error}"[:700]}
        if args.keep and result["what"] in ("wrong", "failed", "error", "crashed"):
            os.makedirs(args.keep, exist_ok=True)
            if os.path.exists(os.path.join(folder, "g.onnx")):
                shutil.copy(os.path.join(folder, "g.onnx"), os.path.join(args.keep, f"{args.seed}_{index}.onnx"))
    os.write(pipe, json.dumps(result, default=str).encode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilewright")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=30, help="seconds of processor time a graph may take")
    parser.add_argument("--keep", help="folder for graphs that went wrong")
    parser.add_argument("--only", type=int, action="append")
    args = parser.parse_args()
    args.tilewright = os.path.abspath(args.tilewright)
    args.work = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    import judge, library, onnxruntime, onnxruntime.quantization  # noqa: once, before the forks
    begin, running, results = time.time(), {}, []
    todo = iter(args.only or range(args.start, args.start + args.count))
    ended = False
    while running or not ended:
        while len(running) < args.jobs and not ended:
            index = next(todo, None)
            if index is None:
                ended = True
                break
            out, into = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(out)
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1), os.dup2(null, 2)
                # Of this processor's time, so that a machine that stands still for a while fails no graph.
                signal.setitimer(signal.ITIMER_PROF, args.limit + 30)
                signal.alarm(20 * int(args.limit) + 60)
                try:
                    child(args, index, into)
                finally:
                    os._exit(0)
            os.close(into)
            running[pid] = (index, out)
        if not running:
            break
        pid, status = os.wait()
        index, out = running.pop(pid)
        with os.fdopen(out, "rb") as pipe:
            text = pipe.read()
        result = json.loads(text) if text else {"index": index, "what": "crashed", "why": f"status {status}"}
        results.append(result)
        if result["what"] in ("wrong", "failed", "error", "crashed"):
            print(json.dumps(result), flush=True)
        if len(results) % 500 == 0:
            print(f"{len(results)} graphs, {time.time() - begin:.0f} s", dict(collections.Counter(r["what"] for r in results)), flush=True)
    subprocess.run(["rm", "-rf", args.work])
    report(results, args, time.time() - begin)
    sys.exit(1 if any(r["what"] in ("wrong", "failed", "error", "crashed") for r in results) else 0)


def report(results, args, seconds):
    import onnxruntime
    print(f"\n{len(results)} graphs, seed {args.seed}, {seconds:.0f} s, ONNX {onnx.__version__}, ONNX Runtime {onnxruntime.__version__}")
    names = {"equal": "equal", "rounding": "differ within the bound", "theirs": "ours right, ONNX Runtime's outside of the bound", "wrong": "WRONG",
             "refused": "refused", "failed": "FAILED", "crashed": "CRASHED", "error": "not judged", "no graph": "not a graph that ONNX Runtime takes",
             "empty": "empty"}
    for kind in ("float", "qdq", "qoperator", ""):
        counts = collections.Counter(r["what"] for r in results if r.get("kind", "") == kind)
        if counts:
            print(f"  {kind or 'none':10s}", ", ".join(f"{names[k]} {v}" for k, v in counts.most_common()))
    for target in TARGETS:
        for threads in (1, 2):
            some = [r for r in results if r.get("target") == target and r.get("threads") == threads]
            print(f"  {target}, {threads} threads: {len(some)} graphs, {sum(r['what'] in ('equal', 'rounding', 'theirs') for r in some)} right, "
                  f"{sum(r['what'] == 'wrong' for r in some)} wrong, {sum(r['what'] == 'refused' for r in some)} refused")
    compared = [r for r in results if r["what"] in ("equal", "rounding", "theirs")]
    print("  operators in graphs that were compared:", ", ".join(f"{o} {n}" for o, n in collections.Counter(
        o for r in compared for o in r["operators"]).most_common()))
    # One line a reason: names and numbers of a graph are not part of it.
    reasons = collections.Counter(re.sub(r"\b[a-z]*\d+\S*", "N", r["why"].split("g.onnx")[-1].replace("\n", " "))[:150] for r in results if r["what"] == "refused")
    for reason, count in reasons.most_common(40):
        print(f"  refused {count:5d}  {reason}")
    for reason, count in collections.Counter(r["why"][:120] for r in results if r["what"] == "no graph").most_common(12):
        print(f"  no graph {count:4d}  {reason}")


if __name__ == "__main__":
    main()
