"""torch_peer.py tasks TASKS OUT | networks OUT | energy OUT: what PyTorch makes of the same work.

tasks: times of cuDNN's and cuBLAS' best algorithms. TASKS has lines of a name, a tab and a workload key;
OUT, a JSON file, is rewritten after each of them, with microseconds by name and form. Convolutions run with
cudnn.benchmark on, in both memory formats; float32 without tf32. As in `tilewright`, a call below 50 us is
replayed in batches of at least 200 us as a graph, with warm caches; a longer one is timed alone, with the
second-level cache overwritten before it.
networks: ResNet-50 and an encoder of 12 layers, 768 wide, 128 positions, at batch 1: seconds of a call
(eager), of a replayed graph, and of torch.compile.
energy: joules of a product of 2048 x 768 x 3072 (float16, cuBLAS) by NVML, from two loops of known work."""
import json
import re
import statistics
import sys
import time

import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
TYPES = {"float32": torch.float32, "float16": torch.float16, "int8": torch.int8}
L2_BYTES = torch.cuda.get_device_properties(0).L2_cache_size


def tensor(kind, shape):
    if kind == "int8":
        return torch.randint(-127, 127, shape, dtype=torch.int8, device="cuda")
    return torch.randn(shape, device="cuda").to(TYPES[kind])


def once(run):
    """Microseconds by the device's events."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def graph_of(call, calls, stream):
    for _ in range(5):
        call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            call()
    graph.replay()
    return graph


def microseconds(call):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        graph = graph_of(call, 1, stream)
        single = min(once(graph.replay) for _ in range(10))
        if single > 50:
            flush = torch.empty(2 * L2_BYTES, dtype=torch.int8, device="cuda")
            samples = []
            for _ in range(30):
                flush.zero_()
                samples.append(once(graph.replay))
            return statistics.median(samples)
        calls = max(1, int(400 / single))
        batch = graph_of(call, calls, stream)
        return statistics.median(once(batch.replay) for _ in range(30)) / calls


def forms(key):
    op, kind, first, second, rest = re.match(
        r"(\w+)\((\w+)\[([\d,]+)\]\w+,\w+\[([\d,]+)\]\w+,?(.*)\)->", key).groups()
    first, second = ([int(n) for n in shape.split(",")] for shape in (first, second))
    a, b = tensor(kind, first), tensor(kind, second)
    if op == "conv2d":
        if kind == "int8":
            return {}  # PyTorch has none on GPUs
        stride, pad = (int(re.search(letter + r"(\d+)x", rest).group(1)) for letter in "sp")
        out = {}
        for name, layout in (("nchw", torch.contiguous_format), ("nhwc", torch.channels_last)):
            x, w = a.to(memory_format=layout), b.to(memory_format=layout)
            out[name] = lambda x=x, w=w: torch.nn.functional.conv2d(x, w, stride=stride, padding=pad)
        return out
    if op == "batch_matmul":
        return {"bmm": lambda: torch.bmm(a, b.transpose(1, 2))}
    if kind == "int8":
        return {"int_mm": lambda: torch._int_mm(a, b.t())}
    return {"mm": lambda: torch.mm(a, b.t())}


def write(path, value):
    with open(path + ".new", "w") as out:
        json.dump(value, out, indent=1)
    import os
    os.replace(path + ".new", path)


def tasks(table, path):
    result = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "times": {}}
    for line in open(table):
        name, key = line.rstrip("\n").split("\t")
        times = result["times"][name] = {}
        try:
            for form, call in forms(key).items():
                times[form] = round(microseconds(call), 3)
        except Exception as error:  # one that cannot be had is said, the others go on
            times["error"] = str(error)[:200]
        print(name, times, flush=True)
        write(path, result)


def encoder(kind):
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
    net = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
    return net.eval().to("cuda", TYPES[kind]), tensor(kind, [1, 128, 768])


def resnet(kind):
    import torchvision
    net = torchvision.models.resnet50(weights=None).eval().to("cuda", TYPES[kind])
    return net.to(memory_format=torch.channels_last), tensor(kind, [1, 3, 224, 224]).to(
        memory_format=torch.channels_last)


def seconds_of_calls(call):
    for _ in range(10):
        call()
    torch.cuda.synchronize()
    samples = []
    for _ in range(30):
        begun = time.perf_counter()
        call()
        torch.cuda.synchronize()
        samples.append(time.perf_counter() - begun)
    return statistics.median(samples)


def networks(path):
    result = {}
    for compiled in (False, True):
        for name, make in (("resnet50", resnet), ("encoder", encoder)):
            for short, kind in (("f32", "float32"), ("f16", "float16")):
                times = result.setdefault(f"{name}_{short}", {})
                try:
                    with torch.inference_mode():
                        net, data = make(kind)
                        if compiled:
                            fast = torch.compile(net, mode="reduce-overhead")
                            times["compiled_seconds"] = seconds_of_calls(lambda: fast(data))
                        else:
                            times["eager_seconds"] = seconds_of_calls(lambda: net(data))
                            times["graph_seconds"] = microseconds(lambda: net(data)) / 1e6
                except Exception as error:
                    times["error"] = str(error)[:200]
                print(name, short, times, flush=True)
                write(path, result)


def energy(path):
    import pynvml
    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    a, b = tensor("float16", [2048, 768]), tensor("float16", [3072, 768])
    result = {}
    for name, call in (("idle", None), ("product", lambda: torch.mm(a, b.t()))):
        torch.cuda.synchronize()
        calls, begun, joules = 0, time.perf_counter(), pynvml.nvmlDeviceGetTotalEnergyConsumption(device)
        while time.perf_counter() - begun < 2:
            if call is None:
                time.sleep(0.1)
                continue
            for _ in range(200):
                call()
            torch.cuda.synchronize()
            calls += 200
        seconds = time.perf_counter() - begun
        joules = (pynvml.nvmlDeviceGetTotalEnergyConsumption(device) - joules) / 1e3
        result[name] = {"watts": joules / seconds, "joules_per_call": joules / calls if calls else None,
                        "seconds_per_call": seconds / calls if calls else None}
        print(name, result[name], flush=True)
        write(path, result)


{"tasks": tasks, "networks": networks, "energy": energy}[sys.argv[1]](*sys.argv[2:])
