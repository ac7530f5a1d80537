"""Calls a library that `tilewright compile` made, through its C interface."""
import ctypes

import numpy as np


class Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("rank", ctypes.c_int64), ("bytes", ctypes.c_int64)]


def aligned(shape, dtype):
    """A tensor at a multiple of 64 bytes, its bytes 0xA5: what is not written shows."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    raw = np.full(size + 64, 0xA5, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + size].view(dtype).reshape(shape)


class Library:
    def __init__(self, path, threads=1):
        self.library = ctypes.CDLL(path)
        header = open(path[:-3] + ".h").read()
        self.prefix = header.split("_run(const")[0].split()[-1]
        self.inputs, self.outputs = self._values("input"), self._values("output")
        problem = self._function("problem")
        problem.restype = ctypes.c_char_p
        if problem() is not None:
            raise RuntimeError(problem().decode())
        if threads > 1:
            code = self._function("set_threads")(threads)
            if code != 0:
                raise RuntimeError(f"set_threads: {code}")

    def _function(self, name):
        return getattr(self.library, f"{self.prefix}_{name}")

    def _values(self, kind):
        count, get = self._function(f"{kind}_count"), self._function(kind)
        count.restype, get.restype = ctypes.c_int64, ctypes.POINTER(Value)
        result = []
        for i in range(count()):
            v = get(ctypes.c_int64(i)).contents
            result.append((v.name.decode(), [v.shape[j] for j in range(v.rank)], v.dtype.decode()))
        return result

    def prepared(self, feeds):
        """`feeds`: arrays by name. Returns a function that runs the library on them, and the outputs that it
        writes, in their order."""
        ins = []
        for name, shape, dtype in self.inputs:
            a = aligned(shape, dtype)
            a[...] = feeds[name].reshape(shape)
            ins.append(a)
        outs = [aligned(shape, dtype) for _, shape, dtype in self.outputs]
        pointers = lambda arrays: (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        call, into, out_of = self._function("run"), pointers(ins), pointers(outs)

        def run():
            code = call(into, out_of)
            if code != 0:
                raise RuntimeError(f"run: {code}")

        run.inputs = ins  # their addresses do not keep them
        return run, outs

    def run(self, feeds):
        """Returns the outputs in their order."""
        run, outs = self.prepared(feeds)
        run()
        return outs
