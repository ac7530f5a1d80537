"""MetaSchedule on one convolution, 64 channels to 64, 3x3, 56x56, float32, one thread:

    conv2d.py TRIALS MCPU

Needs apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post0 (later helper packages crash at the first
call), cloudpickle, tornado, psutil, scipy, xgboost and numpy, from pip. Prints trials a second and the
best time."""

import os
import sys
import tempfile
import time

os.environ["TVM_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import tvm  # noqa: E402
from tvm import te  # noqa: E402
from tvm.s_tir import meta_schedule  # noqa: E402

CHANNELS, IMAGE, KERNEL = 64, 56, 3


def convolution():
    data = te.placeholder((1, CHANNELS, IMAGE, IMAGE), name="data")
    weight = te.placeholder((CHANNELS, CHANNELS, KERNEL, KERNEL), name="weight")
    zero = tvm.tirx.const(0, "float32") if hasattr(tvm, "tirx") else tvm.tir.const(0, "float32")

    def padded(b, c, y, x):
        inside = te.all(y >= 1, y < IMAGE + 1, x >= 1, x < IMAGE + 1)
        return te.if_then_else(inside, data[b, c, y - 1, x - 1], zero)

    pad = te.compute((1, CHANNELS, IMAGE + 2, IMAGE + 2), padded, name="pad")
    c = te.reduce_axis((0, CHANNELS), name="c")
    r = te.reduce_axis((0, KERNEL), name="r")
    s = te.reduce_axis((0, KERNEL), name="s")
    result = te.compute(
        (1, CHANNELS, IMAGE, IMAGE),
        lambda b, k, y, x: te.sum(pad[b, c, y + r, x + s] * weight[k, c, r, s], axis=[c, r, s]),
        name="conv",
    )
    return te.create_prim_func([data, weight, result])


def main():
    trials, mcpu = int(sys.argv[1]), sys.argv[2]
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu, "num-cores": 1})
    database = meta_schedule.database.MemoryDatabase()
    begin = time.time()
    meta_schedule.tune_tir(
        mod=convolution(),
        target=target,
        work_dir=tempfile.mkdtemp(),
        max_trials_global=trials,
        num_trials_per_iter=32,
        database=database,
    )
    seconds = time.time() - begin
    records = database.get_all_tuning_records()
    best = min(float(np.mean([float(t) for t in r.run_secs])) for r in records if r.run_secs)
    operations = 2 * CHANNELS * CHANNELS * KERNEL * KERNEL * IMAGE * IMAGE
    print(
        f"MetaSchedule: {len(records)} trials in {seconds:.1f} s = {len(records) / seconds:.2f}/s; "
        f"best {best * 1e6:.0f} us = {operations / best / 1e9:.1f} GFLOP/s"
    )


main()
