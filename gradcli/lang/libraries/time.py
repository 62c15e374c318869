"""`time`: clocks and `sleep`. Text from strangers gets neither: it is to print the same in every run."""

from __future__ import annotations

import time
from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.named_tuples import named_tuple
from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value, hosted
from gradcli.lang.values.calls import call, is_callable
from gradcli.lang.values.execution import check_time, execution
from gradcli.lang.values.object_operations import index_of, to_number
from gradcli.lang.values.value_classes import Builtin

#: the longest sleep, in seconds
_LONGEST = 3600.0
_FORMAT_LENGTH = 200
_FIELDS = ("tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "tm_yday", "tm_isdst")
_Moment = named_tuple("time.struct_time", lambda *values: values, *_FIELDS)


def trusted() -> None:
    """Raise RuntimeError where the program may not read clocks."""
    if limits.current.untrusted:
        raise ProgramError("RuntimeError", "clocks are not read under --untrusted")


def _clock(name: str) -> Callable[[], Value]:
    read = getattr(time, name)

    def run() -> Value:
        trusted()
        return read()

    return run


def _sleep(seconds: Value, /) -> None:
    trusted()
    wanted = seconds if type(seconds) in (int, float, bool) else to_number(seconds)
    if wanted < 0:
        raise ProgramError("ValueError", "sleep length must be non-negative")
    if not wanted <= _LONGEST:
        raise ProgramError("ValueError", f"sleep length must be at most {_LONGEST:,.0f} s here")
    time.sleep(min(wanted, max(0.0, execution.deadline - time.monotonic())))
    check_time()


def _moment(convert: Callable[..., time.struct_time]) -> Callable[..., Value]:
    def run(seconds: Value = None, /) -> Value:
        trusted()
        return _Moment(tuple(hosted(convert, seconds))[:9])

    return run


def _strftime(format: Value, t: Value = None, /) -> str:
    if type(format) is not str or len(format) > _FORMAT_LENGTH:
        raise ProgramError("TypeError", f"strftime() takes a text of at most {_FORMAT_LENGTH} characters")
    if t is None:
        trusted()
    moment = time.localtime() if t is None else tuple(t)
    return str(hosted(time.strftime, format, moment))


def _ctime(seconds: Value = None, /) -> str:
    trusted()
    return str(hosted(time.ctime, seconds))


_CLOCKS = (
    "time",
    "time_ns",
    "perf_counter",
    "perf_counter_ns",
    "monotonic",
    "monotonic_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
)

MEMBERS: dict[str, Value] = {
    **{name: Builtin(name, _clock(name)) for name in _CLOCKS},
    "sleep": Builtin("sleep", _sleep),
    "localtime": Builtin("localtime", _moment(time.localtime)),
    "gmtime": Builtin("gmtime", _moment(time.gmtime)),
    "strftime": Builtin("strftime", _strftime),
    "ctime": Builtin("ctime", _ctime),
}


def _timed(stmt: Value, setup: Value, number: Value) -> float:
    if not is_callable(stmt) or not (setup == "pass" or is_callable(setup)):
        raise ProgramError("NotImplementedError", "timeit of statements in texts is not part of gradcli: give it a function")
    trusted()
    if setup != "pass":
        call(setup, (), state.origin)
    begin = time.perf_counter()
    for _ in range(index_of(number)):
        call(stmt, (), state.origin)
    return time.perf_counter() - begin


def _timeit(stmt: Value = "pass", setup: Value = "pass", timer: Value = None, number: Value = 1000000) -> float:
    return _timed(stmt, setup, number)


def _repeat(stmt: Value = "pass", setup: Value = "pass", timer: Value = None, repeat: Value = 5, number: Value = 1000000) -> list[float]:
    return [_timed(stmt, setup, number) for _ in range(index_of(repeat))]


TIMEIT: dict[str, Value] = {
    "default_timer": MEMBERS["perf_counter"],
    "timeit": Builtin("timeit", _timeit),
    "repeat": Builtin("repeat", _repeat),
}
