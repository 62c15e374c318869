"""Files and standard input as arrays and as program text."""

from gradcli.data.files import Loaded, ReadStdin, content_of, descriptor_of, load, open_pipe, open_regular, read_source, stdin_reader
from gradcli.data.form import MISSING, ORDINARY, Form

__all__ = [
    "MISSING",
    "ORDINARY",
    "Form",
    "Loaded",
    "ReadStdin",
    "content_of",
    "descriptor_of",
    "load",
    "open_pipe",
    "open_regular",
    "read_source",
    "stdin_reader",
]
