"""Tasks of libtilewright.so by ctypes: ask for configs, tell results, read records.

    task = Task("records.db", "gemm", space, problem={"m": 512}, environment={"match": {"gpu": "A100"}})
    number, config = task.ask()                     # None if every config was proposed
    task.tell(number, seconds=[1.2e-3, 1.3e-3])     # or task.tell(number, verdict="compile")
"""
import ctypes as c
import json

VERDICTS = ["ok", "compile", "runtime", "timeout", "correctness", "constraints"]
lib = c.CDLL("libtilewright.so.1")


class Error(c.Structure):
    _fields_ = [("size", c.c_uint32), ("code", c.c_int32), ("message", c.c_char * 1016)]


class Options(c.Structure):
    _fields_ = [("size", c.c_uint32), ("warm_start", c.c_uint32)] + [
        (name, c.c_char_p) for name in ("name", "space", "problem", "metrics", "environment", "strategy")] + [
        ("seed", c.c_uint64), ("warm_stores", c.c_void_p), ("warm_store_count", c.c_size_t)]


class Value(c.Structure):
    _fields_ = [("name", c.c_char_p), ("unit", c.c_char_p), ("samples", c.POINTER(c.c_double)), ("count", c.c_size_t)]


class Result(c.Structure):
    _fields_ = [("size", c.c_uint32), ("verdict", c.c_int32), ("reason", c.c_char_p), ("values", c.POINTER(Value)),
                ("value_count", c.c_size_t), ("max_abs_error", c.c_double)]


class Trial(c.Structure):
    _fields_ = [("size", c.c_uint32), ("verdict", c.c_int32)] + [
        (name, c.c_char_p) for name in ("id", "config", "environment", "reason", "metric", "others")] + [
        (name, c.c_double) for name in ("value", "noise", "max_abs_error", "measured_unix_seconds")] + [
        ("sample_count", c.c_size_t), ("samples", c.POINTER(c.c_double))]


for function in ("tw_proposal_json", "tw_tuning_key"):
    getattr(lib, function).restype = c.c_char_p
lib.tw_proposal_number.restype = c.c_int64
lib.tw_records_count.restype = c.c_size_t
NOT_FOUND = 2


def call(name, *arguments, allowed=()):
    error = Error(c.sizeof(Error))
    code = getattr(lib, name)(*arguments, c.byref(error))
    if code != 0 and code not in allowed:
        raise RuntimeError(error.message.decode())
    return code


def text(value):
    return None if value is None else (value if isinstance(value, str) else json.dumps(value)).encode()


class Task:
    def __init__(self, store, name, space, problem=None, metrics=None, environment=None, strategy=None, seed=1):
        options = Options(c.sizeof(Options), 1, text(name), text(space), text(problem), text(metrics),
                          text(environment), text(strategy), seed)
        self.handle = c.c_void_p()
        call("tw_tuning_open", store.encode(), c.byref(options), c.byref(self.handle))

    def __del__(self):
        lib.tw_tuning_free(self.handle)

    def ask(self):
        config = c.c_void_p()
        if call("tw_tuning_ask", self.handle, c.byref(config), allowed=(NOT_FOUND,)) == NOT_FOUND:
            return None
        asked = lib.tw_proposal_number(config), json.loads(lib.tw_proposal_json(config))
        lib.tw_proposal_free(config)
        return asked

    def tell(self, number, verdict="ok", reason=None, max_abs_error=0.0, **samples):
        call("tw_tuning_tell", self.handle, c.c_int64(number), self._result(verdict, reason, max_abs_error, samples))

    def record(self, config, verdict="ok", reason=None, max_abs_error=0.0, **samples):
        call("tw_tuning_record", self.handle, text(config), self._result(verdict, reason, max_abs_error, samples))

    def records(self):
        handle = c.c_void_p()
        call("tw_tuning_records", self.handle, c.byref(handle))
        found = []
        for i in range(lib.tw_records_count(handle)):
            trial = Trial(c.sizeof(Trial))
            call("tw_records_at", handle, c.c_size_t(i), c.byref(trial))
            found.append({"config": json.loads(trial.config), "verdict": VERDICTS[trial.verdict],
                          "environment": json.loads(trial.environment), "metric": trial.metric.decode(),
                          "value": trial.value, "samples": trial.samples[:trial.sample_count]})
        lib.tw_records_free(handle)
        return found

    @staticmethod
    def _result(verdict, reason, max_abs_error, samples):
        values = (Value * len(samples))()
        for value, (name, numbers) in zip(values, samples.items()):
            value.name, value.count = name.encode(), len(numbers)
            value.samples = (c.c_double * len(numbers))(*numbers)
        return c.byref(Result(c.sizeof(Result), VERDICTS.index(verdict), text(reason), values, len(samples),
                              max_abs_error))
