"""demo.py MODEL LIBRARY THREADS: one line that compares a compiled model with ONNX Runtime (all optimizations) on the same
input, timed in turns: a process for each, of which one waits while the other computes. Called by scripts/demo.sh."""
import statistics
import subprocess
import sys
import time

import numpy as np


def data_of(session):
    return {i.name: np.random.default_rng(7).standard_normal([d if isinstance(d, int) else 1 for d in i.shape]).astype(
        np.float32) for i in session.get_inputs()}


def serve(run):
    print("ready", flush=True)
    for line in sys.stdin:
        end, times = time.perf_counter() + float(line), []
        while len(times) < 5 or time.perf_counter() < end:
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        print(statistics.median(times), flush=True)


def session_of(model, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main():
    model, library, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if len(sys.argv) == 5:
        session = session_of(model, threads)
        feeds = data_of(session)
        if sys.argv[4] == "theirs":
            serve(lambda: session.run(None, feeds))
        else:
            from library import Library
            run, outputs = Library(library, threads).prepared(feeds)
            run()
            expected = session.run(None, feeds)[0].reshape(-1).astype(np.float64)
            error = np.max(np.abs(outputs[0].reshape(-1) - expected)) / np.sqrt(np.mean(expected**2))
            if error > 1e-2:
                sys.exit(f"the results differ by {error:.1e} of the root mean square")
            del session  # its threads
            serve(run)
        return
    children = [subprocess.Popen([sys.executable, __file__, *sys.argv[1:], kind], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True) for kind in ("ours", "theirs")]
    if any(child.stdout.readline().strip() != "ready" for child in children):
        sys.exit(1)
    turns = []
    for turn in range(9):
        times = [0.0, 0.0]
        for i in (0, 1) if turn % 2 else (1, 0):
            time.sleep(0.1)  # until the other process's threads no longer wait awake
            children[i].stdin.write("0.5\n")
            children[i].stdin.flush()
            times[i] = float(children[i].stdout.readline())
        turns.append(times)
    for child in children:
        child.stdin.close()
        child.wait()
    import onnxruntime
    ours, theirs = (1e3 * statistics.median(t[i] for t in turns[1:]) for i in (0, 1))
    ratio = statistics.median(t[1] / t[0] for t in turns[1:])
    print(f"ONNX Runtime {onnxruntime.__version__} on the same network, {threads} threads, in turns: {theirs:.2f} ms; "
          f"this library: {ours:.2f} ms, {ratio:.2f} times as fast")


main()
