"""The line editor: prompt_toolkit with the language's rules for complete inputs, colours, completion, history, preview."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus, is_searching, to_filter
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import ConditionalContainer, FloatContainer, HSplit, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style

from gradcli.render.escape import escape_lines
from gradcli.render.highlight import GradcliLexer
from gradcli.repl.completer import Complete, PromptCompleter
from gradcli.repl.history import HistoryFile
from gradcli.repl.plain import CONTINUED, PROMPT
from gradcli.repl.preview import Evaluate, Preview

_STYLE = {
    "prompt": "bold ansigreen",
    "continuation": "ansigreen",
    "preview": "ansibrightblack",
    "pygments.keyword": "ansiblue",
    "pygments.keyword.pseudo": "bold ansicyan",
    "pygments.literal.number": "ansimagenta",
    "pygments.literal.string": "ansigreen",
    "pygments.comment": "ansibrightblack",
    "pygments.name.function": "ansicyan",
    "pygments.name.namespace": "ansiyellow",
    "pygments.error": "ansired",
    "auto-suggestion": "ansibrightblack",
}
_INDENT = "    "
_PREVIEW_LINES = 5


@dataclass(slots=True)
class Behaviour:
    """What the editor asks of the session."""

    is_complete: Callable[[str], bool]
    complete: Complete
    preview: Evaluate
    signature: Callable[[str], str] = lambda text: ""


class _FileHistory(History):
    """The history file, as prompt_toolkit wants it."""

    def __init__(self, file: HistoryFile) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """The entries, newest first."""
        return reversed(self._file.load())

    def store_string(self, string: str) -> None:
        """Add an entry to the file."""
        self._file.append(string)


class Editor:
    """Reads inputs from a terminal. `terminal` replaces it in tests."""

    def __init__(
        self,
        history: HistoryFile,
        behaviour: Behaviour,
        *,
        vi: bool = False,
        colour: bool = True,
        terminal: tuple[Input, Output] | None = None,
    ) -> None:
        self._behaviour = behaviour
        #: the text before the cursor, and the signature that was found for it
        self._signed = ("", "")
        self.preview = Preview(behaviour.preview, self._redraw)
        given, shown = terminal or (None, None)
        self.session: PromptSession[str] = PromptSession(
            [("class:prompt", PROMPT)],
            multiline=True,
            prompt_continuation=lambda width, number, wrapped: [("class:continuation", " " * width if wrapped else CONTINUED)],
            lexer=PygmentsLexer(GradcliLexer) if colour else None,
            style=Style.from_dict(_STYLE if colour else {}),
            include_default_pygments_style=False,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            completer=PromptCompleter(behaviour.complete),
            complete_while_typing=False,
            history=_FileHistory(history),
            auto_suggest=AutoSuggestFromHistory(),
            input_processors=[HighlightMatchingBracketProcessor(chars="[](){}")],
            key_bindings=_bindings(behaviour.is_complete),
            vi_mode=vi,
            enable_suspend=True,
            input=given,
            output=shown,
        )
        self._add_preview()
        self.session.default_buffer.on_text_changed += lambda buffer: self.preview.typed(buffer.text)

    def read(self) -> str:
        """The next input. Raises EOFError at the end, KeyboardInterrupt for Ctrl-C."""
        try:
            return self.session.prompt()
        finally:
            self.preview.stop()

    def leave(self, error: BaseException) -> bool:
        """End the reading that is going on, from a signal handler; False where none is."""
        app = self.session.app
        if not app.is_running or app.loop is None:
            return False
        app.loop.call_soon_threadsafe(self._exit, error)
        return True

    def _exit(self, error: BaseException) -> None:
        if self.session.app.is_running:
            self.session.app.exit(exception=error)

    def _redraw(self) -> None:
        self.session.app.invalidate()

    def _add_preview(self) -> None:
        """Places for the signature and the preview below the line, in prompt_toolkit's own layout."""
        pending = [self.session.layout.container]
        while not isinstance(floats := pending.pop(0), FloatContainer):
            pending += floats.get_children()
        assert isinstance(floats.content, HSplit)
        # otherwise the line would push the preview to the bottom of the screen
        for line in self.session.layout.find_all_windows():
            if isinstance(line.content, BufferControl) and line.content.buffer is self.session.default_buffer:
                line.dont_extend_height = to_filter(True)
        window = Window(FormattedTextControl(self._preview_text), dont_extend_height=True, wrap_lines=False)
        shown = Condition(lambda: bool(self.preview.text) and not get_app().is_done)
        signature = Window(FormattedTextControl(self._signature_text), dont_extend_height=True, wrap_lines=False)
        called = Condition(lambda: bool(self._signature()) and not get_app().is_done)
        floats.content.children += [ConditionalContainer(signature, called), ConditionalContainer(window, shown)]

    def _signature(self) -> str:
        """What the call that is being typed takes, "" elsewhere."""
        text = self.session.default_buffer.document.text_before_cursor
        if text != self._signed[0]:
            self._signed = (text, "" if "(" not in text else self._behaviour.signature(text))
        return self._signed[1]

    def _signature_text(self) -> StyleAndTextTuples:
        return [("class:preview", " " * len(PROMPT) + escape_lines(self._signature()))]

    def _preview_text(self) -> StyleAndTextTuples:
        lines = escape_lines(self.preview.text).split("\n")
        if len(lines) > _PREVIEW_LINES:
            lines = [*lines[: _PREVIEW_LINES - 1], "..."]
        width = len(PROMPT)
        return [("class:preview", "\n".join(f"{'=' if at == 0 else ' ':>{width - 1}} {line}" for at, line in enumerate(lines)))]


# --- keys -----------------------------------------------------------------------------------------


def _bindings(is_complete: Callable[[str], bool]) -> KeyBindings:
    keys = KeyBindings()
    editing = has_focus(DEFAULT_BUFFER) & ~is_searching

    @keys.add("enter", filter=editing)
    def _(event: KeyPressEvent) -> None:
        _enter(event, is_complete)

    @keys.add("escape", "enter", filter=editing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("tab", filter=editing & Condition(_in_indentation))
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(_INDENT)

    @keys.add("backspace", filter=editing & Condition(_in_indentation))
    def _(event: KeyPressEvent) -> None:
        column = event.current_buffer.document.cursor_position_col
        event.current_buffer.delete_before_cursor((column - 1) % len(_INDENT) + 1 if column else 1)

    return keys


def _in_indentation() -> bool:
    """Whether nothing but blanks stands before the cursor, on a line that continues an input."""
    document = get_app().current_buffer.document
    return document.line_count > 1 and not document.current_line_before_cursor.strip()


def _enter(event: KeyPressEvent, is_complete: Callable[[str], bool]) -> None:
    """Close the menu, run the input, or go on in a new line."""
    buffer = event.current_buffer
    if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
        buffer.complete_state = None
        return
    pasted = without_prompts(buffer.text)
    if pasted != buffer.text:
        buffer.document = Document(pasted, len(pasted))
    document = buffer.document
    if document.line_count > 1 and document.text_after_cursor.strip():
        buffer.newline()
    elif is_complete(document.text):
        buffer.validate_and_handle()
    else:
        buffer.cursor_position = len(document.text)
        buffer.insert_text("\n" + indentation(document.text))


def indentation(text: str) -> str:
    """The blanks with which the line after `text` begins."""
    line = text.rpartition("\n")[2]
    blanks = line[: len(line) - len(line.lstrip())]
    stripped = line.strip()
    if stripped.partition("#")[0].rstrip().endswith(":"):
        return blanks + _INDENT
    first = stripped.partition(" ")[0]
    return blanks[: -len(_INDENT)] if first in ("return", "pass", "break", "continue", "raise") else blanks


def without_prompts(text: str) -> str:
    """Text that was pasted with the prompts of a session: only what was typed there."""
    if not text.lstrip().startswith(PROMPT):
        return text
    lines = [line.strip() if line.strip() in (">>>", "...") else line.lstrip() for line in text.split("\n")]
    typed = [line[4:] for line in lines if line.startswith((PROMPT, CONTINUED)) or line in (">>>", "...")]
    return "\n".join(typed)
