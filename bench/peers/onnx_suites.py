"""ONNX's own test cases through the `tilewright` program.

Needs Python with numpy and onnx; only for development, nothing of the product does. Each case is
compiled to a library, which is called through its C interface, and its outputs are compared with
those the case expects. Cases come with the `onnx` package: the folders pytorch-converted,
pytorch-operator and simple, and `node`, which is code (what `onnx.backend.test` collects).

A case passes if every output has the expected type and shape, integers are equal and floats lie
within the case's tolerance (float16: at least two units in the last place). A refusal is exit code 2 of the program, with a message; everything
else (other codes, signals, another result) is wrong, and then this script ends with 1.

Operators whose node case has a shape, axes or the like as an input of the network are refused,
because such numbers must be known while the file is read: networks that people have store them as
constants. Where the message says so, the case is tried again with its inputs of integers (and then
with all but the first) as constants, and counted on its own ("with constants").
"""

import argparse
import ctypes
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.connection import wait

import numpy as np
import onnx
from onnx import numpy_helper

SUITES = ("pytorch-converted", "pytorch-operator", "simple", "node")


class Value(ctypes.Structure):
    """TilewrightValue of a compiled library's header."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
    ]


def aligned(shape, dtype):
    """Memory for a tensor, with a guard behind it to show what is written beyond its end."""
    count = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    raw = np.full(count + 128, 0xA5, np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + count].view(dtype).reshape(shape), raw[offset + count :]


def run_library(path, inputs):
    """Outputs of a compiled library; `inputs` in the order of the network."""
    library = ctypes.CDLL(path)
    for kind in ("input", "output"):
        getattr(library, f"m_{kind}").restype = ctypes.POINTER(Value)
        getattr(library, f"m_{kind}_count").restype = ctypes.c_int64
    library.m_problem.restype = ctypes.c_char_p

    def values(kind):
        made = []
        for i in range(getattr(library, f"m_{kind}_count")()):
            value = getattr(library, f"m_{kind}")(ctypes.c_int64(i)).contents
            shape = [value.shape[j] for j in range(value.rank)]
            made.append((value.name.decode(), *aligned(shape, value.dtype.decode())))
        return made

    if library.m_problem() is not None:
        raise RuntimeError(library.m_problem().decode())
    ours, outs = values("input"), values("output")
    for name, memory, _ in ours:
        given = inputs[name]
        if given.dtype != memory.dtype or given.shape != memory.shape:
            raise RuntimeError(
                f"input {name} is {memory.dtype}{list(memory.shape)}, "
                f"the case has {given.dtype}{list(given.shape)}"
            )
        memory[...] = given
    arrays = ctypes.c_void_p * max(len(ours), 1), ctypes.c_void_p * max(len(outs), 1)
    code = library.m_run(
        arrays[0](*[memory.ctypes.data for _, memory, _ in ours]),
        arrays[1](*[memory.ctypes.data for _, memory, _ in outs]),
    )
    if code != 0:
        raise RuntimeError(f"run returns {code}")
    for name, _, guard in outs:
        if not (guard == 0xA5).all():
            raise RuntimeError(f"output {name} was written beyond its end")
    return [memory for _, memory, _ in outs]


def difference(seen, expected, rtol, atol):
    """What is wrong with an output; None if nothing is."""
    expected = np.asarray(expected)
    if seen.dtype != expected.dtype or seen.shape != expected.shape:
        return (
            f"{seen.dtype}{list(seen.shape)} instead of {expected.dtype}{list(expected.shape)}"
        )
    if seen.dtype == np.float16:  # two units in the last place
        rtol = max(rtol, 2.0**-9)
    if seen.dtype.kind not in "fc":
        different = int((seen != expected).sum())
        return f"{different} of {seen.size} elements differ" if different else None
    close = np.isclose(
        seen.astype(np.float64), expected.astype(np.float64), rtol, atol, equal_nan=True
    )
    if close.all():
        return None
    with np.errstate(invalid="ignore"):
        worst = np.nanmax(np.abs(seen.astype(np.float64) - expected.astype(np.float64)))
    return f"{int((~close).sum())} of {seen.size} elements differ, by up to {worst:.3g}"


def as_the_case_means(model, expected, seen, atol):
    """An output without rows that only stand for the most there may be, and its absolute bound.

    NonMaxSuppression has its rows in front and -1 behind them. A transform is a sum of as many
    terms as it has elements, and what cancels in it is as exact as these (the expected values
    themselves have 2e-7 where 0 is due)."""
    kinds = {node.op_type for node in model.graph.node}
    if "NonMaxSuppression" in kinds and seen.ndim == 2 and len(seen) > len(expected):
        if (seen[len(expected) :] == -1).all():
            seen = seen[: len(expected)]
    if "DFT" in kinds and expected.size:
        atol = max(atol, 2.0**-22 * float(np.abs(expected).max()))
    return seen, atol


def with_constants(model, arrays, chosen):
    """The model with the inputs `chosen` turned into initializers."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    kept = [value for value in changed.graph.input if value.name not in chosen]
    del changed.graph.input[:]
    changed.graph.input.extend(kept)
    for name in chosen:
        changed.graph.initializer.append(numpy_helper.from_array(arrays[name], name))
    return changed


def array_of(value):
    """A value of a case as an array; None for sequences, optional values and the like."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if value is None or isinstance(value, (list, tuple, dict, onnx.SequenceProto, onnx.OptionalProto)):
        return None
    return np.asarray(value)


def load_case(suite, folder, name):
    """(model, [(inputs, outputs)], rtol, atol); None stands for what is no tensor."""
    if suite == "node":
        case = NODE_CASES[name]
        sets = [([array_of(x) for x in ins], [array_of(x) for x in outs]) for ins, outs in case.data_sets]
        return case.model, sets, case.rtol, case.atol
    path = os.path.join(folder, suite, name)
    model = onnx.load(os.path.join(path, "model.onnx"))

    def read(kind, values, data_set):
        arrays = []
        for i, value in enumerate(values):
            with open(os.path.join(path, data_set, f"{kind}_{i}.pb"), "rb") as file:
                text = file.read()
            if not value.type.HasField("tensor_type"):
                arrays.append(None)
                continue
            tensor = onnx.TensorProto()
            tensor.ParseFromString(text)
            arrays.append(numpy_helper.to_array(tensor))
        return arrays

    initial = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initial]
    sets = []
    for data_set in sorted(os.listdir(path)):
        if data_set.startswith("test_data_set_"):
            sets.append(
                (read("input", inputs, data_set), read("output", model.graph.output, data_set))
            )
    return model, sets, 1e-3, 1e-7


NODE_CASES = {}


def attempt(program, target, model, scratch):
    """(exit code, message) of compiling a model to scratch/m.so."""
    path, library = os.path.join(scratch, "m.onnx"), os.path.join(scratch, "m.so")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    command = [program, "compile", path, "-o", library, "--name", "m", "--no-packages"]
    command += ["--target", target] if target else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return -1, "compile takes more than 300 s"
    return done.returncode, done.stderr.strip()


def check(program, target, suite, folder, name):
    """(outcome, detail): passed, constants, refused or wrong."""
    model, sets, rtol, atol = load_case(suite, folder, name)
    initial = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in initial]
    arrays = dict(zip(names, sets[0][0])) if sets else {}
    integers = [n for n in names if getattr(arrays.get(n), "dtype", np.dtype("f4")).kind in "iub"]
    with tempfile.TemporaryDirectory(prefix="onnx_suites.") as scratch:
        code, message = attempt(program, target, model, scratch)
        outcome = "passed"
        # Positions, sizes and bounds that are data of the case and constants of networks.
        tries = [integers if len(integers) < len(names) else integers[1:], names[1:], names]
        for chosen in tries:
            if code != 2 or not re.search(r"known|computed|has no shape", message) or not chosen:
                continue
            if any(not isinstance(arrays[n], np.ndarray) for n in chosen) or len(sets) > 1:
                continue
            again, said = attempt(program, target, with_constants(model, arrays, chosen), scratch)
            if again == 2:
                continue
            code, message, outcome = again, said, "constants"
        if code == 2 and "undefined symbol" not in message:
            return "refused", message
        if code != 0:
            return "wrong", f"compile ends with {code}: {message[-300:]}"
        for inputs, outputs in sets:
            seen = run_library(os.path.join(scratch, "m.so"), dict(zip(names, inputs)))
            if len(seen) != len(outputs):
                return "wrong", f"{len(seen)} outputs instead of {len(outputs)}"
            for i, (ours, theirs) in enumerate(zip(seen, outputs)):
                ours, floor = as_the_case_means(model, np.asarray(theirs), ours, atol)
                problem = difference(ours, theirs, rtol, floor)
                if problem:
                    return "wrong", f"output {i}: {problem}"
        return outcome, ""


def work(pipe, program, target, folder):
    """A process of the pool: takes (suite, name) and gives (outcome, detail) until it is told None."""
    os.environ["TILEWRIGHT_RECORDS"] = os.devnull
    while (task := pipe.recv()) is not None:
        suite, name = task
        if suite == "node" and not NODE_CASES:
            NODE_CASES.update(collect_node())
        try:
            pipe.send(check(program, target, suite, folder, name))
        except Exception as error:  # of the library, or of what the case holds
            pipe.send(("wrong", f"{type(error).__name__}: {error}"))


def collect_node():
    import warnings

    warnings.filterwarnings("ignore")
    from onnx.backend.test.loader import load_model_tests

    return {case.name: case for case in load_model_tests(kind="node")}


class Worker:
    def __init__(self, *arguments):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=work, args=(other, *arguments), daemon=True)
        self.process.start()
        other.close()
        self.task, self.since = None, 0.0

    def give(self, task):
        self.task, self.since = task, time.monotonic()
        self.pipe.send(task)


def run_all(tasks, processes, limit, arguments):
    """{(suite, name): (outcome, detail)}; a case whose process dies or never ends is wrong."""
    results, waiting = {}, list(reversed(tasks))
    workers = [Worker(*arguments) for _ in range(min(processes, len(tasks)))]
    for worker in workers:
        worker.give(waiting.pop())
    while any(worker.task for worker in workers):
        wait([worker.pipe for worker in workers if worker.task], timeout=5)
        for i, worker in enumerate(workers):
            if not worker.task:
                continue
            ended = None
            if worker.pipe.poll():
                try:
                    results[worker.task] = worker.pipe.recv()
                    worker.task = None
                except EOFError:
                    worker.process.join()
                    ended = f"the process that ran it ended with {worker.process.exitcode}"
            elif time.monotonic() - worker.since > limit:
                worker.process.kill()
                worker.process.join()
                ended = f"takes more than {limit} s"
            if ended:
                results[worker.task] = ("wrong", ended)
                workers[i] = worker = Worker(*arguments)
            if not worker.task and waiting:
                worker.give(waiting.pop())
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{len(results)} of {len(tasks)} ")
    for worker in workers:
        worker.pipe.send(None)
        worker.process.join()
    return results


def reason_of(message):
    """A message of the program, without what is of this case only."""
    line = message.splitlines()[-1] if message else "no message"
    line = re.sub(r"^(tilewright \w+: )?(\S*m\.onnx: )?", "", line)
    found = re.search(r"operators? (?:is|are) not supported: (.*)", line)
    if found:
        return "operator " + re.sub(r" \(\d+ nodes?\)", "", found.group(1)).split(";")[0]
    line = re.sub(r"^node \d+ \((\w+)\) making '[^']*': ", r"\1: ", line)
    line = re.sub(r"(float|u?int|bool|b?float)\d*\[[\d,]*\]", "T[…]", line)
    return re.sub(r"'[^']*'|\(\w+\)|-?\b\d+(\.\d+)?\b", "N", line).split("; export")[0][:110]


def report(results, suites, out):
    def say(text=""):
        print(text, file=out)

    say(f"onnx {onnx.__version__}, operator set {onnx.defs.onnx_opset_version()}")
    say()
    say(f"{'suite':20}{'cases':>7}{'passed':>8}{'constants':>11}{'refused':>9}{'wrong':>7}{'share':>8}")
    for suite in suites:
        counts = Counter(outcome for (kind, _), (outcome, _) in results.items() if kind == suite)
        total = sum(counts.values())
        good = counts["passed"] + counts["constants"]
        say(
            f"{suite:20}{total:7}{counts['passed']:8}{counts['constants']:11}"
            f"{counts['refused']:9}{counts['wrong']:7}{100 * good / max(total, 1):7.1f}%"
        )
    for suite in suites:
        reasons = Counter(
            reason_of(detail)
            for (kind, _), (outcome, detail) in results.items()
            if kind == suite and outcome == "refused"
        )
        if reasons:
            say(f"\n{suite}: refused, by reason")
        for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
            say(f"{count:5}  {reason}")
    wrong = {task: detail for task, (outcome, detail) in results.items() if outcome == "wrong"}
    if wrong:
        say("\nwrong")
    for (suite, name), detail in sorted(wrong.items()):
        say(f"  {suite}/{name}: {detail}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the tilewright program")
    parser.add_argument("--suite", action="append", choices=SUITES, help="default: all")
    parser.add_argument("--only", default="", help="regular expression for the names of cases")
    parser.add_argument("--every", type=int, default=1, help="only every Nth case")
    parser.add_argument("--target", help="default: this machine")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600, help="seconds for one case")
    parser.add_argument("--output", help="file for the table, beside standard output")
    parser.add_argument("--list", action="store_true", help="print the outcome of every case")
    options = parser.parse_args()
    suites = options.suite or list(SUITES)

    folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    tasks = []
    for suite in suites:
        if suite == "node":
            NODE_CASES.update(collect_node())
            names = sorted(NODE_CASES)
        elif os.path.isdir(os.path.join(folder, suite)):
            names = sorted(
                name
                for name in os.listdir(os.path.join(folder, suite))
                if os.path.exists(os.path.join(folder, suite, name, "model.onnx"))
            )
        else:
            names = []
        if not names:
            print(f"{suite}: onnx {onnx.__version__} has no cases of this suite", file=sys.stderr)
        names = [name for name in names if re.search(options.only, name)]
        tasks += [(suite, name) for name in names[:: options.every]]
    if not tasks:
        parser.error("no case fits")
    arguments = (os.path.abspath(options.program), options.target, folder)
    results = run_all(tasks, options.processes, options.limit, arguments)
    if options.list:
        for (suite, name), (outcome, detail) in sorted(results.items()):
            print(f"{outcome:10} {suite}/{name}  {detail.splitlines()[-1] if detail else ''}")
    bad = report(results, suites, sys.stdout)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            report(results, suites, file)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
