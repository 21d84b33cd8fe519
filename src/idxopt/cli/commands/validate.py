"""`idxopt validate`: is a program valid?"""

from __future__ import annotations

from idxopt.cli import options
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, write
from idxopt.cli.units import counted
from idxopt.errors import ExitCode


def validate(settings: Settings, program: options.Program) -> ExitCode:
    """Check a program without any cluster; an error names the place in it.

    Example: idxopt validate program.json
    """
    from idxopt.program.advice import warnings
    from idxopt.program.canonical import canonical, program_hash
    from idxopt.program.reserved import unsupported
    from idxopt.program.validate import load_program

    valid = load_program(program)
    later = [{"path": path, "what": what} for path, what in unsupported(valid)]
    if settings.json:
        emit_json(
            {
                "valid": True,
                "name": valid.name,
                "hash": program_hash(valid),
                "not_in_this_version": later,
                "warnings": warnings(valid),
                "program": canonical(valid),
            }
        )
        return ExitCode.OK
    steps = sum(len(view.steps) for view in valid.views.values())
    write(f"{valid.name}: valid; {counted(len(valid.views), 'view')}, {counted(steps, 'step')}")
    write(f"hash {program_hash(valid)}")
    for item in later:
        write(f"! {item['path']}: {item['what']}: not in this version, so it cannot be applied yet")
    for warning in warnings(valid):
        write(f"! {warning}")
    return ExitCode.OK
