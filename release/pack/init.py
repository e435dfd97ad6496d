"""Starts the program that this package holds, under its shorter name."""

import os
import subprocess
import sys


def main():
    suffix = ".exe" if os.name == "nt" else ""
    folder = os.path.dirname(os.path.abspath(sys.argv[0]))
    program = os.path.join(folder, "agentgateway-lock" + suffix)
    if os.name == "nt":
        sys.exit(subprocess.call([program, *sys.argv[1:]]))
    os.execv(program, ["agentgateway", *sys.argv[1:]])
