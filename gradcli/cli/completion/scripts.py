"""The completion scripts of bash, zsh and fish, and where each shell looks for them.

Each script calls `gradcli` with `_GRADCLI_COMPLETE` set to the name of the shell. bash gets a line that says `open` when no blank may
follow, and then a quoted candidate a line; zsh `flags TAB prefix TAB value TAB about`, where `prefix`
is how many characters of the word the value leaves out; fish `value TAB about`.
"""

from __future__ import annotations

import os
from pathlib import Path

from gradcli.errors import DataError, UsageError

_BASH = """\
_gradcli_completion() {
    local flags line
    COMPREPLY=()
    {
        IFS= read -r flags
        while IFS= read -r line; do COMPREPLY+=("$line"); done
    } < <(_GRADCLI_COMPLETE=bash _GRADCLI_LINE="${COMP_LINE:0:COMP_POINT}" _GRADCLI_BREAKS="$COMP_WORDBREAKS" "$1" 2>/dev/null)
    [[ $flags == open ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -F _gradcli_completion gradcli
"""

_ZSH = """\
#compdef gradcli
_gradcli() {
    local flags prefix value about
    local -i cut=0
    local -a closed unfinished names directories
    while IFS=$'\\t' read -r flags prefix value about; do
        cut=$prefix
        case $flags in
            file) names+=("$value") ;;
            directory) directories+=("$value") ;;
            open) unfinished+=("${value//:/\\\\:}${about:+:$about}") ;;
            *) closed+=("${value//:/\\\\:}${about:+:$about}") ;;
        esac
    done < <(_GRADCLI_COMPLETE=zsh "${(Q)words[1]}" "${(Q@)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    (( cut )) && compset -p $cut
    (( $#closed )) && _describe -V 'gradcli' closed
    (( $#unfinished )) && _describe -V 'gradcli' unfinished -S ''
    (( $#names )) && compadd -f -- "${names[@]}"
    (( $#directories )) && compadd -f -S '' -- "${directories[@]}"
    return 0
}
compdef _gradcli gradcli
"""

_FISH = """\
function __gradcli_complete
    set -l words (commandline -opc)
    _GRADCLI_COMPLETE=fish command $words (commandline -ct) 2>/dev/null
end
complete -c gradcli -f -a '(__gradcli_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}

#: by shell, the file for the script below the home directory
_PLACES = {"bash": ".bash_completions/gradcli.sh", "zsh": ".zfunc/_gradcli", "fish": ".config/fish/completions/gradcli.fish"}
#: by shell, its own start-up file and the line in it that loads the script
_LOADERS = {
    "bash": (".bashrc", "source ~/.bash_completions/gradcli.sh"),
    "zsh": (".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
}


def script(shell: str | None = None) -> str:
    """The script of a shell, None for the one that runs this process. Raises UsageError for a shell that has none."""
    return SCRIPTS[_known(shell)]


def install(shell: str | None = None) -> tuple[str, Path]:
    """Write the script where the shell loads it; the shell and the file. Raises UsageError, DataError."""
    name = _known(shell)
    home = Path.home()
    path = home / _PLACES[name]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCRIPTS[name])
        if name in _LOADERS:
            file, line = _LOADERS[name]
            _add_line(home / file, line)
    except OSError as error:
        raise DataError(f"cannot write {error.filename}: {error.strerror}") from None
    return name, path


def _add_line(path: Path, line: str) -> None:
    """Append the line to the file, unless it is there."""
    before = path.read_text() if path.exists() else ""
    if line not in before.splitlines():
        path.write_text(f"{before}{'' if before.endswith(chr(10)) or not before else chr(10)}{line}\n")


def _known(shell: str | None) -> str:
    name = shell or _running_shell()
    if name not in SCRIPTS:
        raise UsageError(
            f"completion is for {', '.join(SCRIPTS)}, not {name or 'this shell'}", hints=["try gradcli --show-completion bash"]
        )
    return name


def _running_shell() -> str:
    """The name of the shell that runs this process, else of the login shell."""
    import shellingham

    try:
        name: str = shellingham.detect_shell()[0]
    except (shellingham.ShellDetectionFailure, OSError):
        return os.path.basename(os.environ.get("SHELL", ""))
    return name
