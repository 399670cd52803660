"""Print the shell script that lets the Tab key complete commands, flags, backends and names of configs."""

import argparse
from collections.abc import Mapping
from typing import Any

from zoo.errors import InputError, nearest
from zooport.parser import Parser
from zooport.terminal import write_line

EXAMPLES = """examples:
  zooport completion bash >> ~/.bashrc
  zooport completion zsh >> ~/.zshrc
  zooport completion fish > ~/.config/fish/completions/zooport.fish

It takes effect in the next shell."""
SHELLS = ("bash", "zsh", "fish")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport completion", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Print the script, and give it."""
    if options.shell not in SHELLS:
        raise InputError(f'unknown shell "{options.shell}"; {nearest(options.shell, SHELLS)}')
    from argcomplete.shell_integration import shellcode

    script = shellcode(["zooport"], shell=options.shell)
    for line in script.split("\n"):
        write_line(line)
    return {"shell": options.shell, "script": script}
