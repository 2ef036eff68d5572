"""Other programs started from one that has a finding, in every way, and last of all in its own place.

usage: children.py STATIC      STATIC: a static program
"""

import os
import subprocess
import sys

import torch

static = sys.argv[1]


def say(*what):
    print(*what, flush=True)


torch.mm(torch.ones(2, 2), torch.empty(2, 2, device="meta"))
say(subprocess.run([static, "by subprocess"], check=False).returncode)
say(subprocess.run("true && (exit 3); echo $?; ls / | head -n 1 | wc -l; exit 4", shell=True, check=False).returncode)
say(subprocess.run(["/bin/sh", "-c", "exit 6"], preexec_fn=lambda: None, check=False).returncode)
say(os.system("exit 2") >> 8)
say(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(static, [static, "by posix_spawn"], os.environ), 0)[1]))
try:
    subprocess.run(["/nowhere/at/all"], check=False)
except FileNotFoundError as error:
    say(error.strerror)
with os.popen("echo by popen") as pipe:
    say(pipe.read().strip())
say(subprocess.run([sys.executable, "-c", "print('a Python without torch')"], check=False).returncode)
os.execv(static, [static, "in its place"])
