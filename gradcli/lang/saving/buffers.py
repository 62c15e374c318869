"""`io.BytesIO` and `io.StringIO`: bytes that torch.save writes and torch.load reads, of which only the number is shown, and text."""

from __future__ import annotations

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.type_errors import not_an_integer, type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value


class Bytes(Scripted):
    """The bytes of a buffer: `len(...)`, and what another buffer takes."""

    __slots__ = ("__weakref__", "content")

    SCRIPT_NAME = "bytes"
    SCRIPT_ATTRIBUTES = {"nbytes": lambda held: len(held.content)}

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __len__(self) -> int:
        return len(self.content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bytes) and self.content == other.content

    def __hash__(self) -> int:
        return hash(len(self.content))

    SCRIPT_METHODS = {"__len__": Routine(__len__)}


class BytesIO(Scripted):
    """Bytes with a position, at which is read and written."""

    __slots__ = ("__weakref__", "closed", "content", "position")

    SCRIPT_NAME = "BytesIO"
    SCRIPT_ATTRIBUTES = {"closed": lambda buffer: buffer.closed}

    def __init__(self, initial_bytes: Value = None) -> None:
        self.content = b"" if initial_bytes is None else _content(initial_bytes)
        self.position = 0
        self.closed = False

    def rest(self) -> bytes:
        """What stands behind the position. ValueError for a buffer that is closed."""
        self._check()
        return self.content[self.position :]

    def put(self, content: bytes) -> None:
        """Write at the position, which moves on. ValueError for a buffer that is closed."""
        self._check()
        end = self.position + len(content)
        limits.check_room(end * 2)
        gap = b"\0" * (self.position - len(self.content))
        self.content = self.content[: self.position] + gap + content + self.content[end:]
        self.position = end

    def _check(self) -> None:
        if self.closed:
            raise ProgramError("ValueError", "I/O operation on closed file.")

    def write(self, b: Value, /) -> int:
        """Write bytes at the position; their number."""
        content = _content(b)
        self.put(content)
        return len(content)

    def read(self, size: Value = -1, /) -> Bytes:
        """The number of bytes that are asked for, from the position on, or all that is left."""
        if size is not None and type(size) is not int:
            raise type_error("argument should be integer or None, not '{}'", size)
        rest = self.rest()
        made = rest if size is None or size < 0 else rest[:size]
        self.position += len(made)
        return Bytes(made)

    def seek(self, pos: Value, whence: Value = 0, /) -> int:
        """Set the position: from the start (0), from where it is (1), from the end (2)."""
        self._check()
        if type(pos) is not int or type(whence) is not int:
            raise not_an_integer(pos if type(pos) is not int else whence)
        if whence not in (0, 1, 2):
            raise ProgramError("ValueError", f"invalid whence ({whence}, should be 0, 1 or 2)")
        if whence == 0 and pos < 0:
            raise ProgramError("ValueError", f"negative seek value {pos}")
        if pos > limits.current.bytes:
            raise ProgramError("OverflowError", "Python int too large to convert to C ssize_t")
        self.position = max(0, pos + (0, self.position, len(self.content))[whence])
        return self.position

    def tell(self) -> int:
        """The position."""
        self._check()
        return self.position

    def truncate(self, size: Value = None, /) -> int:
        """Take away what stands behind a place, or behind the position."""
        self._check()
        end = self.position if size is None else size
        if type(end) is not int:
            raise not_an_integer(end)
        if end < 0:
            raise ProgramError("ValueError", f"negative size value {end}")
        self.content = self.content[:end]
        return end

    def getvalue(self) -> Bytes:
        """All bytes."""
        self._check()
        return Bytes(self.content)

    def close(self) -> None:
        """Free the bytes: nothing can be read or written any more."""
        self.closed = True
        self.content = b""

    def enter(self) -> BytesIO:
        """The buffer itself."""
        self._check()
        return self

    def exit(self) -> None:
        """Close it."""
        self.close()

    SCRIPT_METHODS = {
        **{method.__name__: Routine(method, method.__name__, hide_first=True) for method in (write, read, seek, tell, truncate)},
        **{method.__name__: Routine(method, method.__name__, hide_first=True) for method in (getvalue, close)},
        "getbuffer": Routine(getvalue, "getbuffer", hide_first=True),
    }


class StringIO(Scripted):
    """Text in memory with a position, at which is read and written."""

    __slots__ = ("__weakref__", "position", "text")

    SCRIPT_NAME = "StringIO"

    def __init__(self, initial_value: Value = "", newline: Value = "\n") -> None:
        if type(initial_value) is not str:
            raise type_error("initial_value must be str or None, not {}", initial_value)
        self.text = initial_value
        self.position = 0

    def write(self, s: Value, /) -> int:
        """Write a text at the position; its length."""
        if type(s) is not str:
            raise type_error("string argument expected, got '{}'", s)
        end = self.position + len(s)
        limits.check_string(end)
        self.text = self.text[: self.position].ljust(self.position, "\0") + s + self.text[end:]
        self.position = end
        return len(s)

    def read(self, size: Value = -1, /) -> str:
        """The number of characters that are asked for, from the position on, or all that is left."""
        if size is not None and type(size) is not int:
            raise type_error("argument should be integer or None, not '{}'", size)
        rest = self.text[self.position :]
        found = rest if size is None or size < 0 else rest[:size]
        self.position += len(found)
        return found

    def readline(self) -> str:
        """The rest of the line at the position, with its end."""
        line, end, _ = self.text[self.position :].partition("\n")
        self.position += len(line + end)
        return line + end

    def seek(self, pos: Value, /) -> int:
        """Set the position."""
        if type(pos) is not int:
            raise not_an_integer(pos)
        if pos < 0:
            raise ProgramError("ValueError", f"Negative seek position {pos}")
        limits.check_string(pos)
        self.position = pos
        return pos

    def tell(self) -> int:
        """The position."""
        return self.position

    def truncate(self, size: Value = None, /) -> int:
        """Take away what stands behind a place, or behind the position."""
        end = self.position if size is None else size
        if type(end) is not int:
            raise not_an_integer(end)
        if end < 0:
            raise ProgramError("ValueError", f"Negative size value {end}")
        self.text = self.text[:end]
        return end

    def getvalue(self) -> str:
        """All the text."""
        return self.text

    def flush(self) -> None:
        """Nothing: the text is there already."""

    def enter(self) -> StringIO:
        """The buffer itself."""
        return self

    def exit(self) -> None:
        """Nothing."""

    SCRIPT_METHODS = {
        method.__name__: Routine(method, method.__name__, hide_first=True)
        for method in (write, read, readline, seek, tell, truncate, getvalue, flush)
    }


def _content(value: Value) -> bytes:
    if type(value) is not Bytes:
        raise type_error("a bytes-like object is required, not '{}'", value)
    return value.content


MEMBERS: dict[str, Value] = {"BytesIO": script_type(BytesIO, "_io"), "StringIO": script_type(StringIO, "_io")}
