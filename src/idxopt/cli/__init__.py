"""The command line: one command a file in `commands`, nothing there but wiring; `render` turns answers into text.

Results go to stdout; progress, log, prompts and errors to stderr; with `--json` stdout holds exactly one document.
"""

try:
    from idxopt.cli.entry import main
except KeyboardInterrupt:  # before `main` could deal with it
    import os

    os.write(2, b"error: stopped\nremedy: run the command again\n")
    raise SystemExit(130) from None

__all__ = ["main"]
