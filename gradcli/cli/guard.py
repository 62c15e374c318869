"""Guards around the evaluation of untrusted programs, beyond the checks that evaluation itself makes.

Evaluation counts, and predicts the cost of calls. This module adds four guards: an alarm raises LimitError between two steps of the
interpreter when the time is used up; the system refuses memory beyond the bound on bytes; an audit hook refuses files, processes,
sockets and imports during evaluation; and a parent process kills this one when a single call into numpy, which Python cannot
interrupt, takes too long.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any, NoReturn

from gradcli import limits
from gradcli.errors import GradcliError, InternalFault, LimitError
from gradcli.limits import Limits
from gradcli.render.look import Look, highlighted

#: set by the console script: the process is gradcli's own, so that its signals, limits and hooks are too
own_process = False

#: audit events (PEP 578) that evaluation never causes, by their beginnings
REFUSED = (
    *("open", "import", "exec", "compile", "os.", "subprocess.", "socket.", "ctypes.", "mmap.", "shutil.", "tempfile.", "glob.", "pty."),
    *("marshal.", "pickle.", "code.", "cpython.run", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "sqlite3.", "fcntl."),
    *("syslog.", "signal.", "resource.", "sys.addaudithook"),
)

#: modules that answers, warnings and errors need, in the middle of a program too
_MODULES = ("gradcli.render.diagnostic", "gradcli.render.escape", "encodings.unicode_escape", "unicodedata", "difflib", "bisect")
#: seconds that an alarm that cannot be delivered is waited for
GRACE = 0.5
#: PR_SET_PDEATHSIG of Linux's prctl
_PARENT_DEATH_SIGNAL = 1
#: what the system allows beyond the bound on bytes, for what evaluation frees late and for the process itself
_SPARE = 64 * 2**20


#: signals that end a process, beside SIGINT
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]


def prepare_signals(terminate: Callable[[int, FrameType | None], None]) -> None:
    """Have `terminate`, which raises, called by the signals that end a process, but for those that `nohup` has it ignore."""
    for number in _ENDING:
        if number == signal.SIGTERM or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, terminate)
    sys.unraisablehook = _raise_again


def _raise_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise what a signal has raised again where it was lost, as in a callback of a weak reference."""
    lost = unraisable.exc_value
    if lost is None or (isinstance(lost, Exception) and not isinstance(lost, LimitError)):
        return

    def again(number: int, frame: FrameType | None) -> None:
        handle_alarm()
        raise lost

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.001)


def begin(bounds: Limits, *, interactive: bool = False, coloured: bool = False) -> None:
    """Put what `bounds` ask for around the rest of this process; at a prompt the time is that of each input, which it watches itself.

    With `coloured` warnings are shown in colour, in the middle of a program too.
    """
    if not own_process:
        return
    if bounds.untrusted:
        preload(coloured=coloured)
    seconds = _allowed(bounds.time)
    if bounds.untrusted:
        if not interactive:
            supervise(bounds.time, seconds)
        seal()
    bound_memory(bounds)
    if seconds < limits.NONE and not interactive:
        handle_alarm()
        set_alarm(seconds)


def _allowed(seconds: float) -> float:
    """The seconds that a program gets: the bound, less what the start took beyond one second, but at least half of the bound."""
    return seconds if seconds == limits.NONE else max(seconds / 2, min(seconds, seconds + 1 - age()))


def age() -> float:
    """Seconds since this process was started; 0 where the system does not tell."""
    try:
        with open("/proc/self/stat", "rb") as file:
            started = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, AttributeError):
        return 0.0


# --- loading before evaluation ---


def preload(*, coloured: bool = False) -> None:
    """Import the modules that evaluation would import on first use, and trigger what numpy sets up on first use."""
    from importlib import import_module

    from gradcli.session import preload

    for name in _MODULES:
        import_module(name)
    preload.preload()
    if coloured:
        look = Look(colour=True)
        look.paint(highlighted("x = 1", look), "warning")
    limits.memory.release = _releaser()


def _releaser() -> Callable[[], object]:
    """A function that collects cycles, and has the C library return freed memory, where it can."""
    import ctypes
    import gc

    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return gc.collect

    def release() -> None:
        gc.collect()
        trim(0)

    return release


# --- the audit hook ---


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and args[0] == os.devnull:
        return  # standard output is redirected there after a broken pipe
    raise InternalFault(f"evaluation wanted {event!r}, which is refused")


def seal(on_event: Callable[[str, tuple[Any, ...]], None] = _refuse) -> None:
    """From now on call `on_event` for every refused event during evaluation. This cannot be taken back."""
    evaluation, refused = limits.evaluation, REFUSED

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if evaluation.depth and event.startswith(refused):
            on_event(event, args)

    sys.addaudithook(hook)


# --- memory and time ---


def bound_memory(bounds: Limits) -> None:
    """Let the system refuse memory beyond the bound on bytes: Python and numpy then raise MemoryError."""
    if bounds.bytes == limits.NONE:
        return
    try:
        import resource

        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[5]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = int(now + bounds.bytes * 5 / 4 + _SPARE)
        if hard == resource.RLIM_INFINITY or wanted < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    except (ImportError, AttributeError, OSError, ValueError):
        return  # a system without these: the checks of evaluation remain


#: when the time is up, and when the alarm that is set comes, both on time.monotonic's clock
_end = _alarm = limits.NONE


def handle_alarm() -> None:
    """Have alarms raise the bound on time in the main thread."""
    global _alarm
    _alarm = limits.NONE
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _time_is_up)


def set_alarm(seconds: float) -> None:
    """Have an alarm after so many seconds; 0 takes it back. `handle_alarm` comes first.

    The system is not asked to take it back: an alarm that comes too early is put off, so that most requests of a batch set none.
    """
    global _end, _alarm
    _end = time.monotonic() + seconds if seconds else limits.NONE
    if _end < _alarm and hasattr(signal, "setitimer"):
        _alarm = _end
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))


def _time_is_up(number: int, frame: FrameType | None) -> None:
    global _alarm
    _alarm = limits.NONE
    left = _end - time.monotonic()
    if left <= 0:
        raise time_error(limits.current.time)
    if left < limits.NONE:
        set_alarm(left)


def time_error(seconds: float) -> LimitError:
    """The error of a program whose time is up."""
    return LimitError("time", f"the program ran for more than {seconds:g} s")


# --- the parent process ---


class Ended(BaseException):
    """The child process has ended with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


#: the child's end of a pipe: the child writes to it when evaluation is over and only the result remains to be written
_news = -1


def finish() -> None:
    """End the bound on time: the program has ended, with or without an error."""
    global _news
    if not own_process:
        return
    set_alarm(0)
    if _news >= 0:
        os.write(_news, b".")
        os.close(_news)
        _news = -1


def supervise(bound: float, seconds: float) -> None:
    """Fork. The call returns in the child alone, which evaluates; the parent waits for the child and kills it when it overruns its time.

    In the parent raises Ended, or the error that the child had no chance to report. `seconds` are left of `bound`.
    """
    global _news
    if not hasattr(os, "fork"):
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    news, _news = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(news)
        for number in (signal.SIGINT, *_ENDING):
            _once(number)
        bound_processor(seconds)
        end_with(parent)
        return
    os.close(_news)
    _news = -1
    _wait(child, news, bound, seconds + GRACE)


def _once(number: int) -> None:
    """Handle the signal once: it may come from the terminal and again from the parent."""
    before = signal.getsignal(number)
    if not callable(before):
        return

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        before(number, frame)

    signal.signal(number, handle)


def end_with(parent: int) -> None:
    """Have the system end this process when its parent, the process `parent`, ends in whatever way. Only Linux does this."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


@cache
def _processors() -> int:
    return os.cpu_count() or 1


#: the seconds, and the time on time.monotonic's clock, at which `bound_processor` last asked the system
_bounded = (limits.NONE, 0.0)


def bound_processor(seconds: float) -> None:
    """Bound the processor time from now on, so that the system ends this process even where the parent was killed.

    The bound has some seconds to spare; the same one is moved when a second of them may have been used.
    """
    global _bounded
    if seconds == limits.NONE:
        return
    now = time.monotonic()
    if seconds == _bounded[0] and now < _bounded[1] + 1 / _processors():
        return
    import resource

    _bounded = seconds, now
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = int(time.process_time() + seconds * _processors()) + 5
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


def _wait(child: int, news: int, seconds: float, left: float) -> NoReturn:
    overdue = False
    ending = 0

    def kill(number: int, frame: FrameType | None) -> None:
        nonlocal overdue
        if ending or not select.select([news], [], [], 0)[0]:
            overdue = not ending
            os.kill(child, signal.SIGKILL)

    def forward(number: int, frame: FrameType | None) -> None:
        """The child ends by itself, or after a moment by force: it may be in a call that no signal reaches."""
        nonlocal ending
        ending = number
        os.kill(child, number)
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    signal.signal(signal.SIGALRM, kill)
    for number in (signal.SIGINT, *_ENDING):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, forward)
    if seconds < limits.NONE:
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))
    _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        raise Ended(code)
    if ending:
        raise Ended(128 + ending)
    raise death(-code, seconds, overdue)


def death(number: int, seconds: float, overdue: bool) -> GradcliError:
    """The error for a child that a signal ended."""
    if overdue or number == signal.SIGXCPU:
        return time_error(seconds)
    if number == signal.SIGKILL:
        return LimitError("bytes", "the system ended the program, as it does when memory is used up")
    return InternalFault(f"the program ended by {signal.Signals(number).name}")
